#!/bin/bash
#PJM -N assay-test
#PJM -L node=16
#PJM -L elapse=01:30:00
#PJM --mpi proc=64
#PJM --mpi max-proc-per-node=4
#PJM -L rscgrp=batch
#PJM -g ABC123
#PJM -o OUT/job-%j.txt
#PJM -j
# Written by `assay job`. Submitted again, it runs only what is missing or failed.
cd START
module load gcc openmpi
export OMP_PLACES=cores
exec BIN/assay run SUITE --launcher pjsub --nodes 16 --ranks-per-node 4 --threads-per-rank 12 --bind core --launches 5 --walltime 01:29:00 --out OUT --resume
