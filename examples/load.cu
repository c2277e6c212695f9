/*
 * load.cu - decompress a .gz file to a GPU's memory
 *
 *   nvcc load.cu $(pkg-config --cflags --libs gzlzss) -o load
 *   nvcc -DUSE_CUFILE load.cu $(pkg-config --cflags --libs gzlzss) -lcufile -o load
 *   ./load FILE.gz
 *
 * Prints the number of bytes, and the number of line feeds, which a kernel counts.  Without
 * USE_CUFILE, the program maps the file, and gzlzss copies its pages to the GPU.  With USE_CUFILE,
 * cuFile brings the compressed bytes to the GPU: directly from an NVMe drive if GPUDirect Storage
 * is set up, otherwise through the host's memory.
 */
#include <cuda_runtime.h>
#include <fcntl.h>
#include <gzlzss_cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef USE_CUFILE
#include <cufile.h>
#endif

__global__ void count_lines(const char *bytes, size_t len, unsigned long long *lines)
{
    const size_t step = (size_t)gridDim.x * blockDim.x;
    unsigned count = 0;

    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < len; i += step)
        count += bytes[i] == '\n';
    atomicAdd(lines, count);
}

static void die(const char *what)
{
    fprintf(stderr, "load: %s\n", what);
    exit(1);
}

/* gzlzss calls this when it knows the size.  It runs in the thread that called gzlzss. */
static void *allocate(void *, size_t size)
{
    void *p = NULL;

    return cudaMalloc(&p, size > 0 ? size : 1) == cudaSuccess ? p : NULL;
}

#ifdef USE_CUFILE

static void check(CUfileError_t error)
{
    if (error.err != CU_FILE_SUCCESS)
        die(cufileop_status_error(error.err));
}

/* Brings the file to the GPU's memory. */
static const void *load(int fd, size_t len)
{
    CUfileDescr_t description = {};
    CUfileHandle_t handle;
    char *p = (char *)allocate(NULL, len);

    description.handle.fd = fd;
    description.type = CU_FILE_HANDLE_TYPE_OPAQUE_FD;
    if (p == NULL)
        die("no memory");
    check(cuFileDriverOpen());
    check(cuFileHandleRegister(&handle, &description));
    for (size_t at = 0; at < len;) {
        const ssize_t n = cuFileRead(handle, p, len - at, (off_t)at, (off_t)at);

        if (n <= 0)
            die(n < -CUFILEOP_BASE_ERR ? cufileop_status_error((CUfileOpError)-n)
                                       : "cannot read the file");
        at += (size_t)n;
    }
    cuFileHandleDeregister(handle);
    return p;
}

#else

/* Maps the file.  Pages that are not in the page cache are read when they are needed. */
static const void *load(int fd, size_t len)
{
    void *p = mmap(NULL, len, PROT_READ, MAP_PRIVATE, fd, 0);

    if (p == MAP_FAILED)
        die("cannot map the file");
    return p;
}

#endif

int main(int argc, char **argv)
{
    unsigned long long *lines;
    struct stat st;
    size_t len = 0;
    void *bytes;
    gzlzss *z;

    if (argc != 2) {
        fprintf(stderr, "usage: load FILE.gz\n");
        return 2;
    }
    const int fd = open(argv[1], O_RDONLY);
    if (fd < 0 || fstat(fd, &st) != 0) {
        perror(argv[1]);
        return 1;
    }
    if (st.st_size == 0)
        die("the file is empty");
    gzlzss_status status = gzlzss_new(&z, NULL);
    if (status == GZLZSS_OK)
        status =
            gzlzss_cuda_decompress_new(z, &bytes, &len, allocate, NULL,
                                       load(fd, (size_t)st.st_size), (size_t)st.st_size, 0, NULL);
    if (status != GZLZSS_OK)
        die(gzlzss_status_text(status));
    if (cudaMallocManaged(&lines, sizeof(*lines)) != cudaSuccess)
        die("no memory");
    *lines = 0;
    count_lines<<<1024, 256>>>((const char *)bytes, len, lines);
    if (cudaDeviceSynchronize() != cudaSuccess)
        die(cudaGetErrorString(cudaGetLastError()));
    printf("%zu bytes, %llu lines\n", len, *lines);
    gzlzss_free(z);
    return 0;
}
