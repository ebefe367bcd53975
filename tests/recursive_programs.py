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


def sorted_list(xs):
    if len(xs) <= 1:
        return xs
    pivot = xs[0]
    less = [x for x in xs[1:] if x < pivot]
    others = [x for x in xs[1:] if x >= pivot]
    return sorted_list(less) + [pivot] + sorted_list(others)


def sort_in_place(xs, low, high):
    if low >= high:
        return
    pivot, i, j = xs[(low + high) // 2], low, high
    while i <= j:
        while xs[i] < pivot:
            i += 1
        while xs[j] > pivot:
            j -= 1
        if i <= j:
            xs[i], xs[j] = xs[j], xs[i]
            i += 1
            j -= 1
    sort_in_place(xs, low, j)
    sort_in_place(xs, i, high)


def hanoi(n, source, target, spare):
    if n == 0:
        return
    hanoi(n - 1, source, spare, target)
    target.append(source.pop())
    hanoi(n - 1, spare, target, source)
