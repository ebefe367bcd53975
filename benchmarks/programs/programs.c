/* The programs in C, as fast as they are written without intrinsics. Built three ways: see in_c.py.

   `sgemm` is the one of NumPy's OpenBLAS: sizes are of 64 bits, 101 is row-major, 111 as it is, 112 transposed. */
#include <math.h>
#include <stdint.h>
#include <string.h>

typedef void sgemm_t(int, int, int, int64_t, int64_t, int64_t, float, const float *, int64_t, const float *, int64_t,
                     float, float *, int64_t);
enum { ROWS = 101, AS_IS = 111, TRANSPOSED = 112 };

void collatz(const int64_t *limit, int64_t *out)
{
    int64_t total = 0;
    for (int64_t start = 1; start <= *limit; start++)
        for (int64_t n = start; n != 1; total++)
            n = n % 2 == 0 ? n / 2 : 3 * n + 1;
    *out = total;
}

void newton(const double *a, const double *start, const double *damping, const double *tolerance, double *out)
{
    double x = *start;
    while (fabs(x * x - *a) > *tolerance)
        x = x - *damping * (x * x - *a) / (2.0 * x);
    *out = x;
}

enum { PIXELS = 512 * 512, BLOCK = 32, MOST = 100 };

void mandelbrot(const float *cr, const float *ci, int32_t *count)
{
#pragma omp parallel for schedule(dynamic, 64)
    for (int start = 0; start < PIXELS; start += BLOCK) {
        float zr[BLOCK] = {0}, zi[BLOCK] = {0};
        int32_t alive[BLOCK], n[BLOCK] = {0};
        for (int k = 0; k < BLOCK; k++)
            alive[k] = 1;
        for (int i = 0, any = 1; i < MOST && any; i++) {
            any = 0;
            for (int k = 0; k < BLOCK; k++) {
                float r = zr[k] * zr[k] - zi[k] * zi[k] + cr[start + k];
                float j = 2 * zr[k] * zi[k] + ci[start + k];
                zr[k] = alive[k] ? r : zr[k];
                zi[k] = alive[k] ? j : zi[k];
                alive[k] &= zr[k] * zr[k] + zi[k] * zi[k] <= 4;
                n[k] += alive[k];
                any |= alive[k];
            }
        }
        memcpy(count + start, n, sizeof n);
    }
}

enum { BATCH = 32, TIME = 100, FEATURES = 64, HIDDEN = 128 };

void rnn(const float *x, const int32_t *lengths, const float *w, const float *u, const float *b, float *out, float *h,
         float *work, sgemm_t *sgemm)
{
    /* what does not depend on h is one large product, of rows in the order of x: batch first */
    sgemm(ROWS, AS_IS, AS_IS, BATCH * TIME, HIDDEN, FEATURES, 1, x, FEATURES, w, HIDDEN, 0, work, HIDDEN);
    memset(h, 0, sizeof(float) * BATCH * HIDDEN);
    for (int t = 0; t < TIME; t++) {
        sgemm(ROWS, AS_IS, AS_IS, BATCH, HIDDEN, HIDDEN, 1, h, HIDDEN, u, HIDDEN, 1, work + t * HIDDEN, TIME * HIDDEN);
        float *row = out + t * BATCH * HIDDEN;
        for (int i = 0; i < BATCH; i++, row += HIDDEN) {
            if (t >= lengths[i]) {
                memset(row, 0, sizeof(float) * HIDDEN);
                continue;
            }
            const float *sum = work + (i * TIME + t) * HIDDEN;
            for (int k = 0; k < HIDDEN; k++)
                row[k] = tanhf(sum[k] + b[k]);
            memcpy(h + i * HIDDEN, row, sizeof(float) * HIDDEN);
        }
    }
}

enum { SAMPLES = 64, INPUTS = 784, UNITS = 256, CLASSES = 10 };

static void softmax(float *x, const float *bias)
{
    for (int i = 0; i < SAMPLES; i++, x += CLASSES) {
        float most = -INFINITY, sum = 0;
        for (int k = 0; k < CLASSES; k++) {
            x[k] += bias[k];
            most = x[k] > most ? x[k] : most;
        }
        for (int k = 0; k < CLASSES; k++)
            sum += x[k] = expf(x[k] - most);
        for (int k = 0; k < CLASSES; k++)
            x[k] /= sum;
    }
}

static void layers(const float *x, const float *w1, const float *b1, const float *w2, const float *b2, float *h,
                   float *p, sgemm_t *sgemm)
{
    sgemm(ROWS, AS_IS, AS_IS, SAMPLES, UNITS, INPUTS, 1, x, INPUTS, w1, UNITS, 0, h, UNITS);
    for (int i = 0; i < SAMPLES; i++)
        for (int k = 0; k < UNITS; k++) {
            float v = h[i * UNITS + k] + b1[k];
            h[i * UNITS + k] = v > 0 ? v : 0;
        }
    sgemm(ROWS, AS_IS, AS_IS, SAMPLES, CLASSES, UNITS, 1, h, UNITS, w2, CLASSES, 0, p, CLASSES);
    softmax(p, b2);
}

void forward(const float *x, const float *w1, const float *b1, const float *w2, const float *b2, float *p, float *h,
             sgemm_t *sgemm)
{
    layers(x, w1, b1, w2, b2, h, p, sgemm);
}

static void column_sums(float *bias, const float *d, int columns)
{
    for (int i = 0; i < SAMPLES; i++)
        for (int k = 0; k < columns; k++)
            bias[k] -= d[i * columns + k];
}

void training(const float *x, const float *y, const float *w1_, const float *b1_, const float *w2_, const float *b2_,
              const float *rate, const int32_t *steps, float *w1, float *b1, float *w2, float *b2, float *h, float *dh,
              float *d, sgemm_t *sgemm)
{
    memcpy(w1, w1_, sizeof(float) * INPUTS * UNITS);
    memcpy(b1, b1_, sizeof(float) * UNITS);
    memcpy(w2, w2_, sizeof(float) * UNITS * CLASSES);
    memcpy(b2, b2_, sizeof(float) * CLASSES);
    for (int step = 0; step < *steps; step++) {
        layers(x, w1, b1, w2, b2, h, d, sgemm);
        for (int k = 0; k < SAMPLES * CLASSES; k++)
            d[k] = (d[k] - y[k]) * *rate;
        sgemm(ROWS, AS_IS, TRANSPOSED, SAMPLES, UNITS, CLASSES, 1, d, CLASSES, w2, CLASSES, 0, dh, UNITS);
        for (int k = 0; k < SAMPLES * UNITS; k++)
            dh[k] = h[k] > 0 ? dh[k] : 0;
        sgemm(ROWS, TRANSPOSED, AS_IS, UNITS, CLASSES, SAMPLES, -1, h, UNITS, d, CLASSES, 1, w2, CLASSES);
        sgemm(ROWS, TRANSPOSED, AS_IS, INPUTS, UNITS, SAMPLES, -1, x, INPUTS, dh, UNITS, 1, w1, UNITS);
        column_sums(b2, d, CLASSES);
        column_sums(b1, dh, UNITS);
    }
}

enum { DIM = 50 };

void descent(const float *a, const float *b, const float *rate, const float *tolerance, float *x)
{
    float g[DIM], norm = 0;
    for (int i = 0; i < DIM; i++) {
        x[i] = 0;
        g[i] = -b[i];
        norm += g[i] * g[i];
    }
    while (sqrtf(norm) > *tolerance) {
        for (int i = 0; i < DIM; i++)
            x[i] -= *rate * g[i];
        norm = 0;
        for (int i = 0; i < DIM; i++) {
            float sum = 0;
            for (int k = 0; k < DIM; k++)
                sum += a[i * DIM + k] * x[k];
            g[i] = sum - b[i];
            norm += g[i] * g[i];
        }
    }
}

enum { ELEMENTS = 1000000, PART = 4000 };

void elementwise(const float *x, const float *y, float *out)
{
    double total = 0;
#pragma omp parallel for reduction(+ : total)
    for (int start = 0; start < ELEMENTS; start += PART) {
        float sum = 0;
        for (int k = start; k < start + PART; k++)
            sum += (tanhf(x[k]) * y[k] + expf(-x[k])) / (1 + fabsf(y[k]));
        total += sum;
    }
    *out = total / ELEMENTS;
}

void product(const float *x, const float *y, float *out, sgemm_t *sgemm)
{
    sgemm(ROWS, AS_IS, AS_IS, 1024, 1024, 1024, 1, x, 1024, y, 1024, 0, out, 1024);
}

enum { SIZE = 512, WIDE = SIZE + 2 };

/* in a buffer with a border, which each step fills with what is on the other side */
void life(const uint8_t *cells, const int32_t *steps, uint8_t *out, uint8_t *a, uint8_t *b)
{
    for (int i = 0; i < SIZE; i++)
        memcpy(a + (i + 1) * WIDE + 1, cells + i * SIZE, SIZE);
    for (int step = 0; step < *steps; step++) {
        for (int i = 1; i <= SIZE; i++) {
            a[i * WIDE] = a[i * WIDE + SIZE];
            a[i * WIDE + SIZE + 1] = a[i * WIDE + 1];
        }
        memcpy(a, a + SIZE * WIDE, WIDE);
        memcpy(a + (SIZE + 1) * WIDE, a + WIDE, WIDE);
#pragma omp parallel for
        for (int i = 1; i <= SIZE; i++) {
            const uint8_t *restrict r = a + i * WIDE + 1, *restrict above = r - WIDE, *restrict below = r + WIDE;
            uint8_t *restrict to = b + i * WIDE + 1;
            for (int k = 0; k < SIZE; k++) {
                uint8_t n = above[k - 1] + above[k] + above[k + 1] + r[k - 1] + r[k + 1]
                            + below[k - 1] + below[k] + below[k + 1];
                to[k] = (n == 3) | ((n == 2) & (r[k] == 1));
            }
        }
        uint8_t *other = a;
        a = b;
        b = other;
    }
    for (int i = 0; i < SIZE; i++)
        memcpy(out + i * SIZE, a + (i + 1) * WIDE + 1, SIZE);
}

static float heat_step(const float *restrict a, float *restrict b, float rate)
{
    float change = 0;
#pragma omp parallel for reduction(max : change)
    for (int i = 1; i < SIZE - 1; i++) {
        const float *r = a + i * SIZE;
        float *to = b + i * SIZE;
        for (int k = 1; k < SIZE - 1; k++) {
            float new = r[k] + rate * (r[k - SIZE] + r[k + SIZE] + r[k - 1] + r[k + 1] - 4 * r[k]);
            float moved = fabsf(new - r[k]);
            change = moved > change ? moved : change;
            to[k] = new;
        }
    }
    return change;
}

void heat(const float *u, const float *rate, const int32_t *steps, float *out, float *work)
{
    float *a = work, *b = out;
    memcpy(a, u, sizeof(float) * SIZE * SIZE);
    memset(b, 0, sizeof(float) * SIZE * SIZE);
    for (int step = 0; step < *steps; step++) {
        float *restrict to = b;
#pragma omp parallel for
        for (int i = 1; i < SIZE - 1; i++) {
            const float *restrict r = a + i * SIZE;
            for (int k = 1; k < SIZE - 1; k++)
                to[i * SIZE + k] = r[k] + *rate * (r[k - SIZE] + r[k + SIZE] + r[k - 1] + r[k + 1] - 4 * r[k]);
        }
        b = a;
        a = to;
    }
    if (a != out)
        memcpy(out, a, sizeof(float) * SIZE * SIZE);
}

void rest(const float *u, const float *rate, const float *tolerance, float *out, float *work)
{
    float *a = work, *b = out;
    memcpy(a, u, sizeof(float) * SIZE * SIZE);
    memset(b, 0, sizeof(float) * SIZE * SIZE);
    for (float change = INFINITY; change > *tolerance;) {
        change = heat_step(a, b, *rate);
        float *other = a;
        a = b;
        b = other;
    }
    if (a != out)
        memcpy(out, a, sizeof(float) * SIZE * SIZE);
}
