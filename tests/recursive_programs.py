"""Recursive functions of more than one test."""
from __future__ import annotations


def quicksort(a, low, high):
    if low < high:
        pivot, i = a[high], low
        for j in range(low, high):
            if a[j] < pivot:
                a[i], a[j] = a[j], a[i]
                i += 1
        a[i], a[high] = a[high], a[i]
        quicksort(a, low, i - 1)
        quicksort(a, i + 1, high)
