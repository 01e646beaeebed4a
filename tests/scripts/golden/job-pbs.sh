#!/bin/bash
#PBS -N assay-test
#PBS -l select=16
#PBS -l place=scatter:excl
#PBS -l walltime=01:30:00
#PBS -q batch
#PBS -A ABC123
#PBS -j oe
#PBS -o OUT/
# Written by `assay job`. Submitted again, it runs only what is missing or failed.
cd START
module load gcc openmpi
export OMP_PLACES=cores
exec BIN/assay run SUITE --launcher pbs --nodes 16 --ranks-per-node 4 --threads-per-rank 12 --bind core --launches 5 --walltime 01:29:00 --out OUT --resume
