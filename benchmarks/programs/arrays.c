/* The programs of benchmarks/arrays.py: the arrays, then sizes. */
#include <math.h>
#include <stdint.h>
#include <string.h>

typedef int64_t i64;

void sieve(uint8_t *prime, i64 n) {
    memset(prime, 1, n);
    prime[0] = prime[1] = 0;
    for (i64 i = 2; i * i < n; i++)
        if (prime[i])
            for (i64 j = i * i; j < n; j += i)
                prime[j] = 0;
}

void product(double *a, double *b, double *c, i64 n) {
    for (i64 i = 0; i < n; i++)
        for (i64 j = 0; j < n; j++) {
            double total = 0;
            for (i64 k = 0; k < n; k++)
                total += a[i * n + k] * b[k * n + j];
            c[i * n + j] = total;
        }
}

void histogram(i64 *x, i64 *counts, i64 n, i64 m) {
    memset(counts, 0, m * sizeof(i64));
    for (i64 i = 0; i < n; i++)
        counts[x[i]]++;
}

void prefix_sums(double *x, double *sums, i64 n) {
    double total = 0;
    for (i64 i = 0; i < n; i++)
        sums[i] = total += x[i];
}

void running_maximum(double *x, double *most, i64 n) {
    double best = x[0];
    for (i64 i = 0; i < n; i++) {
        if (x[i] > best)
            best = x[i];
        most[i] = best;
    }
}

void occurrences(i64 *text, i64 *word, i64 *found, i64 n, i64 m) {
    i64 count = 0;
    for (i64 i = 0; i + m <= n; i++) {
        i64 j = 0;
        while (j < m && text[i + j] == word[j])
            j++;
        if (j == m)
            count++;
    }
    found[0] = count;
}

void stencil(double *a, double *b, i64 n) {
    for (i64 i = 1; i < n - 1; i++)
        for (i64 j = 1; j < n - 1; j++)
            b[i * n + j] = 0.25 * (a[(i - 1) * n + j] + a[(i + 1) * n + j] + a[i * n + j - 1] + a[i * n + j + 1]);
}

void bubble_sort(double *a, i64 n) {
    for (i64 i = 0; i < n; i++)
        for (i64 j = 0; j < n - 1 - i; j++)
            if (a[j] > a[j + 1]) {
                double kept = a[j];
                a[j] = a[j + 1];
                a[j + 1] = kept;
            }
}

void insertion_sort(double *a, i64 n) {
    for (i64 i = 1; i < n; i++) {
        double x = a[i];
        i64 j = i - 1;
        while (j >= 0 && a[j] > x) {
            a[j + 1] = a[j];
            j--;
        }
        a[j + 1] = x;
    }
}

void quicksort(double *a, i64 *stack, i64 n) {
    stack[0] = 0;
    stack[1] = n - 1;
    i64 top = 2;
    while (top > 0) {
        top -= 2;
        i64 low = stack[top], high = stack[top + 1];
        if (low >= high)
            continue;
        double pivot = a[(low + high) / 2];
        i64 i = low, j = high;
        while (i <= j) {
            while (a[i] < pivot)
                i++;
            while (a[j] > pivot)
                j--;
            if (i <= j) {
                double kept = a[i];
                a[i] = a[j];
                a[j] = kept;
                i++;
                j--;
            }
        }
        stack[top] = low;
        stack[top + 1] = j;
        stack[top + 2] = i;
        stack[top + 3] = high;
        top += 4;
    }
}

void counting_sort(i64 *x, i64 *sorted, i64 *counts, i64 n, i64 m) {
    memset(counts, 0, m * sizeof(i64));
    for (i64 i = 0; i < n; i++)
        counts[x[i]]++;
    for (i64 k = 1; k < m; k++)
        counts[k] += counts[k - 1];
    for (i64 i = n - 1; i >= 0; i--) {
        counts[x[i]]--;
        sorted[counts[x[i]]] = x[i];
    }
}

void longest_increasing(double *x, i64 *lengths, i64 n) {
    for (i64 i = 0; i < n; i++) {
        lengths[i] = 1;
        for (i64 j = 0; j < i; j++)
            if (x[j] < x[i] && lengths[j] + 1 > lengths[i])
                lengths[i] = lengths[j] + 1;
    }
}

void shortest_ways(double *ways, i64 n) {
    for (i64 k = 0; k < n; k++)
        for (i64 i = 0; i < n; i++)
            for (i64 j = 0; j < n; j++) {
                double length = ways[i * n + k] + ways[k * n + j];
                if (length < ways[i * n + j])
                    ways[i * n + j] = length;
            }
}

void bodies(double *x, double *v, double *mass, i64 n) {
    for (i64 step = 0; step < 3; step++) {
        for (i64 i = 0; i < n; i++)
            for (i64 j = 0; j < n; j++)
                if (i != j) {
                    double dx = x[3 * j] - x[3 * i], dy = x[3 * j + 1] - x[3 * i + 1], dz = x[3 * j + 2] - x[3 * i + 2];
                    double square = dx * dx + dy * dy + dz * dz + 0.01;
                    double pull = 0.01 * (mass[j] / (square * sqrt(square)));
                    v[3 * i] += pull * dx;
                    v[3 * i + 1] += pull * dy;
                    v[3 * i + 2] += pull * dz;
                }
        for (i64 i = 0; i < n; i++)
            for (i64 k = 0; k < 3; k++)
                x[3 * i + k] += 0.01 * v[3 * i + k];
    }
}

void knapsack(i64 *weights, i64 *values, i64 *best, i64 n, i64 size) {
    for (i64 i = 0; i < n; i++)
        for (i64 c = size - 1; c >= weights[i]; c--) {
            i64 other = best[c - weights[i]] + values[i];
            best[c] = other > best[c] ? other : best[c];
        }
}

void edit_distance(i64 *a, i64 *b, i64 *row, i64 n, i64 m) {
    for (i64 j = 0; j <= m; j++)
        row[j] = j;
    for (i64 i = 1; i <= n; i++) {
        i64 before = row[0];
        row[0] = i;
        for (i64 j = 1; j <= m; j++) {
            i64 here = row[j], least = before + (a[i - 1] != b[j - 1]);
            if (row[j] + 1 < least)
                least = row[j] + 1;
            if (row[j - 1] + 1 < least)
                least = row[j - 1] + 1;
            row[j] = least;
            before = here;
        }
    }
}

void life(i64 *a, i64 *b, i64 n) {
    for (i64 i = 1; i < n - 1; i++)
        for (i64 j = 1; j < n - 1; j++) {
            i64 count = -a[i * n + j];
            for (i64 k = i - 1; k <= i + 1; k++)
                for (i64 l = j - 1; l <= j + 1; l++)
                    count += a[k * n + l];
            b[i * n + j] = count == 3 || (count == 2 && a[i * n + j] == 1);
        }
}

void mandelbrot(i64 *steps, i64 n, i64 m) {
    for (i64 i = 0; i < n; i++)
        for (i64 j = 0; j < m; j++) {
            double re = -2.0 + 3.0 * j / m, im = -1.0 + 2.0 * i / n, x = 0, y = 0;
            i64 k = 0;
            while (k < 100 && x * x + y * y <= 4.0) {
                double next = x * x - y * y + re;
                y = 2 * x * y + im;
                x = next;
                k++;
            }
            steps[i * m + j] = k;
        }
}

void components(i64 *parent, i64 *edges, i64 n, i64 m) {
    for (i64 i = 0; i < n; i++)
        parent[i] = i;
    for (i64 k = 0; k < m; k++) {
        i64 a = edges[2 * k], b = edges[2 * k + 1];
        while (parent[a] != a) {
            parent[a] = parent[parent[a]];
            a = parent[a];
        }
        while (parent[b] != b) {
            parent[b] = parent[parent[b]];
            b = parent[b];
        }
        if (a != b)
            parent[a] = b;
    }
}

void convolution(double *a, double *filter, double *out, i64 n, i64 m) {
    for (i64 i = 0; i + m <= n; i++)
        for (i64 j = 0; j + m <= n; j++) {
            double total = 0;
            for (i64 k = 0; k < m; k++)
                for (i64 l = 0; l < m; l++)
                    total += a[(i + k) * n + j + l] * filter[k * m + l];
            out[i * (n - m + 1) + j] = total;
        }
}

void nearest(double *x, double *centres, i64 *labels, i64 n, i64 m, i64 d) {
    for (i64 i = 0; i < n; i++) {
        double least = 1e300;
        for (i64 j = 0; j < m; j++) {
            double total = 0;
            for (i64 k = 0; k < d; k++) {
                double t = x[i * d + k] - centres[j * d + k];
                total += t * t;
            }
            if (total < least) {
                least = total;
                labels[i] = j;
            }
        }
    }
}

void elimination(double *a, double *b, i64 n) {
    for (i64 k = 0; k < n; k++)
        for (i64 i = k + 1; i < n; i++) {
            double factor = a[i * n + k] / a[k * n + k];
            for (i64 j = k; j < n; j++)
                a[i * n + j] -= factor * a[k * n + j];
            b[i] -= factor * b[k];
        }
}

void change(i64 *coins, i64 *ways, i64 k, i64 n) {
    ways[0] = 1;
    for (i64 i = 1; i < n; i++)
        ways[i] = 0;
    for (i64 q = 0; q < k; q++)
        for (i64 i = coins[q]; i < n; i++)
            ways[i] = (ways[i] + ways[i - coins[q]]) % 1000000007;
}

static i64 larger(i64 a, i64 b) { return a > b ? a : b; }

void local_alignment(i64 *a, i64 *b, i64 *scores, i64 *best, i64 n, i64 m) {
    i64 most = 0, w = m + 1;
    for (i64 i = 1; i <= n; i++)
        for (i64 j = 1; j <= m; j++) {
            i64 same = a[i - 1] == b[j - 1] ? 2 : -1, *here = scores + i * w + j;
            *here = larger(larger(0, here[-w - 1] + same), larger(here[-w] - 1, here[-1] - 1));
            most = larger(most, *here);
        }
    best[0] = most;
}

void collatz_lengths(i64 *lengths, i64 n) {
    lengths[1] = 1;
    for (i64 i = 2; i < n; i++) {
        i64 x = i, count = 0;
        for (; x >= i; count++)
            x = x % 2 == 0 ? x / 2 : 3 * x + 1;
        lengths[i] = count + lengths[x];
    }
}

void cholesky(double *a, double *lower, i64 n) {
    for (i64 i = 0; i < n; i++)
        for (i64 j = 0; j <= i; j++) {
            double total = a[i * n + j];
            for (i64 k = 0; k < j; k++)
                total -= lower[i * n + k] * lower[j * n + k];
            lower[i * n + j] = i == j ? sqrt(total) : total / lower[j * n + j];
        }
}

void median_filter(double *a, double *out, double *window, i64 n) {
    for (i64 i = 1; i < n - 1; i++)
        for (i64 j = 1; j < n - 1; j++) {
            i64 count = 0;
            for (i64 k = -1; k < 2; k++)
                for (i64 m = -1; m < 2; m++) {
                    double x = a[(i + k) * n + j + m];
                    i64 q = count++;
                    for (; q > 0 && window[q - 1] > x; q--)
                        window[q] = window[q - 1];
                    window[q] = x;
                }
            out[i * n + j] = window[4];
        }
}

void run_lengths(i64 *x, i64 *values, i64 *lengths, i64 *runs, i64 n) {
    i64 k = 0;
    for (i64 i = 0, j; i < n; i = j) {
        for (j = i + 1; j < n && x[j] == x[i]; j++)
            ;
        values[k] = x[i];
        lengths[k++] = j - i;
    }
    runs[0] = k;
}

static void swap(double *a, double *b) {
    double kept = *a;
    *a = *b;
    *b = kept;
}

void heap_sort(double *a, i64 n) {
    for (i64 start = n / 2, end = n; end > 1;) {
        if (start > 0)
            start--;
        else
            swap(a + --end, a);
        for (i64 root = start, child; (child = 2 * root + 1) < end; root = child) {
            if (child + 1 < end && a[child] < a[child + 1])
                child++;
            if (a[root] >= a[child])
                break;
            swap(a + root, a + child);
        }
    }
}

void searches(double *ordered, double *x, i64 *places, i64 n, i64 m) {
    for (i64 i = 0; i < m; i++) {
        i64 low = 0, high = n;
        while (low < high) {
            i64 middle = (low + high) / 2;
            if (ordered[middle] < x[i])
                low = middle + 1;
            else
                high = middle;
        }
        places[i] = low;
    }
}

void overlapping_views(double *x, i64 n) {
    for (i64 k = 1; k < 20; k++)
        for (i64 i = 0; i < n - k; i++)
            x[i] = 0.5 * (x[i] + x[i + k]);
}

void tridiagonal(double *a, double *b, double *c, double *d, double *x, double *factors, i64 n) {
    factors[0] = c[0] / b[0];
    x[0] = d[0] / b[0];
    for (i64 i = 1; i < n; i++) {
        double pivot = b[i] - a[i] * factors[i - 1];
        factors[i] = c[i] / pivot;
        x[i] = (d[i] - a[i] * x[i - 1]) / pivot;
    }
    for (i64 i = n - 2; i >= 0; i--)
        x[i] -= factors[i] * x[i + 1];
}

void roots(double *low, double *high, double *found, i64 n) {
    for (i64 q = 0; q < n; q++) {
        double a = low[q], b = high[q];
        for (int k = 0; k < 40; k++) {
            double middle = 0.5 * (a + b);
            if (exp(-middle) - sin(middle) > 0)
                a = middle;
            else
                b = middle;
        }
        found[q] = a;
    }
}
