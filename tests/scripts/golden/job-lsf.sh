#!/bin/bash
#BSUB -J assay-test
#BSUB -nnodes 16
#BSUB -W 01:30
#BSUB -q batch
#BSUB -P ABC123
#BSUB -o OUT/job-%J.txt
# Written by `assay job`. Submitted again, it runs only what is missing or failed.
cd START
module load gcc openmpi
export OMP_PLACES=cores
exec BIN/assay run SUITE --launcher lsf --nodes 16 --ranks-per-node 4 --threads-per-rank 12 --bind core --launches 5 --walltime 01:29:00 --out OUT --resume
