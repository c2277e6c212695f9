/*
 * cuda.h - as much of CUDA's driver as gpu/caller.cu asks about, so that it can be compiled
 *
 * There is no driver on the emulated device, so its functions are looked for in vain: all memory is
 * the host's.
 */
#ifndef GZLZSS_EMULATED_CUDA_H
#define GZLZSS_EMULATED_CUDA_H

#include <stdint.h>

enum CUresult {
    CUDA_SUCCESS = 0,
    CUDA_ERROR_NOT_INITIALIZED = 3,
    CUDA_ERROR_NOT_READY = 600,
    CUDA_ERROR_STREAM_CAPTURE_IMPLICIT = 906
};

enum CUpointer_attribute {
    CU_POINTER_ATTRIBUTE_MEMORY_TYPE = 2,
    CU_POINTER_ATTRIBUTE_HOST_POINTER = 4,
    CU_POINTER_ATTRIBUTE_IS_MANAGED = 8,
    CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL = 9
};

enum { CU_MEMORYTYPE_HOST = 1, CU_MEMORYTYPE_DEVICE = 2 };
enum CUstreamCaptureStatus { CU_STREAM_CAPTURE_STATUS_NONE };
enum CUstreamCaptureMode { CU_STREAM_CAPTURE_MODE_RELAXED = 2 };
enum { CU_EVENT_DISABLE_TIMING = 2 };

typedef int CUdevice;
typedef uintptr_t CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;

#define CU_STREAM_LEGACY ((CUstream)0x1)
#define CU_STREAM_PER_THREAD ((CUstream)0x2)

#endif
