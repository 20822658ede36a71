// Measures collectives of the machine's MPI. For each argument
// COLLECTIVE:DTYPE:BYTES:ITERATIONS it prints a line with the median over the iterations of
// the slowest rank's time in microseconds. BYTES is the size of the larger buffer. Buffers
// are rewritten before every iteration.
#include <immintrin.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Adds f16 elements. MPI has no f16, so the program defines the operation itself, with
// vector instructions.
static void add_f16(void *in, void *inout, int *len, MPI_Datatype *type) {
	(void)type;
	uint16_t *x = in, *y = inout;
	for (int i = 0; i < *len; i += 8) {
		uint16_t a[8] = {0}, b[8] = {0};
		int n = *len - i < 8 ? *len - i : 8;
		uint16_t *p = x + i, *q = y + i;
		if (n < 8) {
			memcpy(a, p, n * sizeof *a);
			memcpy(b, q, n * sizeof *b);
			p = a;
			q = b;
		}
		__m256 s = _mm256_add_ps(_mm256_cvtph_ps(_mm_loadu_si128((__m128i *)p)), _mm256_cvtph_ps(_mm_loadu_si128((__m128i *)q)));
		_mm_storeu_si128((__m128i *)q, _mm256_cvtps_ph(s, 0));
		if (n < 8)
			memcpy(y + i, b, n * sizeof *b);
	}
}

static int compare(const void *a, const void *b) {
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

int main(int argc, char **argv) {
	MPI_Init(&argc, &argv);
	int rank, ranks;
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	MPI_Op f16;
	MPI_Op_create(add_f16, 1, &f16);
	for (int a = 1; a < argc; a++) {
		char coll[32], dtype[8];
		long bytes;
		int iterations;
		if (sscanf(argv[a], "%31[^:]:%7[^:]:%ld:%d", coll, dtype, &bytes, &iterations) != 4) {
			fprintf(stderr, "bad case %s\n", argv[a]);
			MPI_Abort(MPI_COMM_WORLD, 2);
		}
		int half = !strcmp(dtype, "f16");
		MPI_Datatype type = half ? MPI_UINT16_T : MPI_FLOAT;
		MPI_Op op = half ? f16 : MPI_SUM;
		int count = bytes / (half ? 2 : 4), part = count / ranks;
		uint32_t *src = malloc(bytes), *dst = malloc(bytes);
		memset(dst, 0, bytes);
		double *times = malloc(iterations * sizeof *times);
		for (int i = -2; i < iterations; i++) {
			for (long j = 0; j < bytes / 4; j++)
				src[j] = 0x3c003c00u + (uint32_t)((i + j) & 7);
			MPI_Barrier(MPI_COMM_WORLD);
			double from = MPI_Wtime();
			if (!strcmp(coll, "all_reduce"))
				MPI_Allreduce(src, dst, count, type, op, MPI_COMM_WORLD);
			else if (!strcmp(coll, "all_gather"))
				MPI_Allgather(src, part, type, dst, part, type, MPI_COMM_WORLD);
			else if (!strcmp(coll, "reduce_scatter"))
				MPI_Reduce_scatter_block(src, dst, part, type, op, MPI_COMM_WORLD);
			else if (!strcmp(coll, "all_to_all"))
				MPI_Alltoall(src, part, type, dst, part, type, MPI_COMM_WORLD);
			else
				MPI_Bcast(src, count, type, 0, MPI_COMM_WORLD);
			double mine = (MPI_Wtime() - from) * 1e6, slowest;
			MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
			if (i >= 0)
				times[i] = slowest;
		}
		qsort(times, iterations, sizeof *times, compare);
		if (rank == 0)
			printf("%s %s %ld %.3f\n", coll, dtype, bytes, times[iterations / 2]);
		free(src);
		free(dst);
		free(times);
	}
	MPI_Finalize();
	return 0;
}
