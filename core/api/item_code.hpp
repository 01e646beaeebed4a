#pragma once
// Code of one thread, which the compilers of the device and of the host both compile. nvcc reads
// the headers that include this one, so they include no other headers of Assay.

#if defined(__CUDACC__)
#define ASSAY_ITEM __host__ __device__ inline
#else
#define ASSAY_ITEM inline
#endif
