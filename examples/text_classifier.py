"""A classifier of short reviews: a dataset of text lines becomes batches of ids of words, and one traced function
trains a bag of embeddings with them.

The reviews are made up here from a few words and written to a file, one in a line after its label.
"""
from __future__ import annotations

import random
import tempfile
from pathlib import Path

import runtime as rt

GOOD = ["good", "great", "lovely", "superb", "charming", "brilliant"]
BAD = ["bad", "dull", "awful", "tedious", "clumsy", "dreadful"]
OTHER = ["The", "film", "was,", "I", "think,", "rather", "long;", "its", "music", "and", "cast", "were", "as", "one",
         "says", "of", "such", "films"]
WIDTH, BATCH = 8, 32


def reviews(count: int, seed: int) -> list[str]:
    """Lines of a label and a review, in which two words tell the label."""
    draw, lines = random.Random(seed), []
    for _ in range(count):
        label = draw.randrange(2)
        telling = [draw.choice(GOOD if label else BAD) for _ in range(2)]
        words = draw.choices(OTHER, k=draw.randrange(3, 9)) + [draw.choice([w, w.upper(), f"{w}!"]) for w in telling]
        draw.shuffle(words)
        lines.append(f"{label}\t{' '.join(words)}<br/>")
    return lines


def words_of(text):
    """The words of a text in lower case, without tags and marks."""
    return rt.strings.split(rt.strings.regex_replace(rt.strings.lower(text), "<br ?/>|[^a-z ]", " "))


def read(line):
    """The words and the label of a line."""
    parts = rt.strings.split(line, "\t")
    return words_of(parts[1]), rt.strings.to_number(parts[0])


def vocabulary(lines) -> list[bytes]:
    """The words of the dataset, in order."""
    found = lines.map(lambda line: read(line)[0]).unbatch().unique()
    return sorted(found.as_numpy_iterator())


def batches(path: str, table):
    """Batches of ids of words, filled up with 0, and labels."""
    def ids(line):
        words, label = read(line)
        return table.lookup(words) + 1, label

    return rt.data.TextLineDataset(path).map(ids).cache().shuffle(1000, seed=1).padded_batch(BATCH)


def logits(weights, ids):
    """The sum of the scores of the words: a linear layer on the mean of their embeddings, where there are words."""
    there = rt.cast(ids > 0, rt.float32)[:, :, rt.newaxis]
    bag = rt.reduce_sum(rt.gather(weights["embeddings"], ids) * there, axis=1) / rt.reduce_sum(there, axis=1)
    return rt.linalg.matvec(bag, weights["out"]) + weights["bias"]


def loss(weights, ids, labels):
    return rt.reduce_mean(rt.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits(weights, ids)))


@rt.function
def train(weights, dataset, epochs):
    """The weights after some epochs of gradient descent, and the mean loss of each."""
    weights, losses = dict(weights), rt.TensorArray(rt.float32, size=epochs)
    for epoch in rt.range(epochs):
        total, count = 0.0, 0
        for ids, labels in dataset:
            value, gradient = rt.value_and_grad(loss)(weights, ids, labels)
            for name, g in gradient.items():
                weights[name] = weights[name] - 2.0 * g
            total += value
            count += 1
        losses = losses.write(epoch, total / rt.cast(count, rt.float32))
    return weights, losses.stack()


@rt.function
def accuracy(weights, dataset):
    right, count = 0, 0
    for ids, labels in dataset:
        found = logits(weights, ids) > 0
        right += rt.reduce_sum(rt.cast(found == (labels > 0.5), rt.int32))
        count += len(labels)
    return right / count


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        paths = [str(Path(folder, name)) for name in ("train.txt", "test.txt")]
        for path, lines in zip(paths, (reviews(600, 0), reviews(200, 1)), strict=True):
            Path(path).write_text("\n".join(lines))
        words = vocabulary(rt.data.TextLineDataset(paths[0]))
        table = rt.lookup.StaticVocabularyTable(
            rt.lookup.KeyValueTensorInitializer(words, range(len(words)), value_dtype=rt.int64), num_oov_buckets=1)
        print(f"{len(words)} words: {', '.join(word.decode() for word in words[:4])} ...")
        training, unseen = (batches(path, table) for path in paths)
        weights = {"embeddings": rt.random.stateless_normal([len(words) + 2, WIDTH], [1, 2], stddev=0.1),
                   "out": rt.random.stateless_normal([WIDTH], [3, 4], stddev=0.3), "bias": rt.constant(0.0)}
        weights, losses = train(weights, training, 20)
        print(f"loss {losses[0]:.2f} in the first epoch, {losses[-1]:.3f} in the last of {len(losses)}")
        print(f"{accuracy(weights, unseen):.1%} of unseen reviews are right")
        ids = table.lookup(words_of("A superb film!")) + 1
        print(f"'A superb film!' is good: {rt.sigmoid(logits(weights, ids[rt.newaxis]))[0]:.2f}")


if __name__ == "__main__":
    main()
