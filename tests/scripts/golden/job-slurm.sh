#!/bin/bash
#SBATCH --job-name=assay-test
#SBATCH --nodes=16
#SBATCH --time=01:30:00
#SBATCH --ntasks-per-node=4
#SBATCH --partition=batch
#SBATCH --account=ABC123
#SBATCH --exclusive
#SBATCH --no-requeue
#SBATCH --no-kill
#SBATCH --output=OUT/job-%j.txt
# Written by `assay job`. Submitted again, it runs only what is missing or failed.
cd START
module load gcc openmpi
export OMP_PLACES=cores
exec BIN/assay run SUITE --launcher slurm --nodes 16 --ranks-per-node 4 --threads-per-rank 12 --bind none --launches 5 --walltime 01:29:00 --out OUT --resume
