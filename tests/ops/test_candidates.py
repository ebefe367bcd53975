"""Losses of sampled classes and sums of chosen rows: results are TF's, eagerly and by both executors."""
import numpy as np
import pytest

import runtime as rt

WAYS = {"eager": lambda f: f, "native": rt.function, "numpy": lambda f: rt.function(f, executor="numpy")}
RNG = np.random.default_rng(0)
WEIGHTS = RNG.normal(size=(20, 4)).astype("float32")
BIASES = RNG.normal(size=20).astype("float32")
INPUTS = RNG.normal(size=(3, 4)).astype("float32")
SAMPLED, COUNTS = np.array([5, 9, 3, 7]), np.array([0.3, 0.1, 0.4, 0.2], "float32")
CASES = [  # labels, expected counts, both losses, and the sums of the absolute gradients
    ([[1], [5], [7]], [[0.5], [0.2], [0.3]], [10.006788, 7.342842, 13.883694], [5.014192, 3.2060504, 2.0936222],
     [27.35291, 10.64733]),
    ([[1, 2], [5, 6], [7, 0]], [[0.5, 0.1], [0.2, 0.3], [0.3, 0.2]], [10.175987, 9.169712, 16.810741],
     [4.312368, 2.6796837, 3.6367786], [22.081507, 12.154509]),
]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("labels", "counts", "nce", "softmax", "gradients"), CASES)
def test_losses(way, labels, counts, nce, softmax, gradients):
    weights, biases = rt.Variable(WEIGHTS), rt.Variable(BIASES)

    def step(labels, counts):
        options = {"num_sampled": 4, "num_classes": 20, "num_true": labels.shape[1],
                   "sampled_values": (rt.constant(SAMPLED), counts, rt.constant(COUNTS))}
        with rt.GradientTape() as tape:
            first = rt.nn.nce_loss(weights, biases, labels, INPUTS, remove_accidental_hits=True, **options)
            second = rt.nn.sampled_softmax_loss(weights, biases, labels, INPUTS, **options)
            total = rt.reduce_sum(first) + rt.reduce_sum(second)
        return first, second, *tape.gradient(total, [weights, biases])

    first, second, *found = WAYS[way](step)(rt.constant(np.array(labels)), rt.constant(np.array(counts, "float32")))
    np.testing.assert_allclose(first, nce, rtol=1e-6)
    np.testing.assert_allclose(second, softmax, rtol=1e-6)
    np.testing.assert_allclose([np.abs(x.numpy()).sum() for x in found], gradients, rtol=1e-6)


@pytest.mark.parametrize("way", WAYS)
def test_samplers(way):
    labels = rt.constant([[1], [5], [7]], rt.int64)

    def draw(labels):
        return (rt.random.log_uniform_candidate_sampler(labels, 1, 15, True, 20, seed=1),
                rt.random.log_uniform_candidate_sampler(labels, 1, 20000, False, 20, seed=1),
                rt.nn.uniform_candidate_sampler(labels, 1, 5, False, 20))

    unique, many, uniform = WAYS[way](draw)(labels)
    found = unique.sampled_candidates.numpy()
    assert len(set(found.tolist())) == 15 and found.min() >= 0 and found.max() < 20
    assert unique.true_expected_count.shape == (3, 1) and unique.sampled_expected_count.shape == (15,)
    np.testing.assert_allclose(many.true_expected_count.numpy() / 20000, [[0.13317858], [0.05063214], [0.03868687]],
                               rtol=1e-5)
    frequencies = np.bincount(many.sampled_candidates.numpy(), minlength=20) / 20000
    np.testing.assert_allclose(frequencies, np.log1p(1 / np.arange(1, 21)) / np.log(21), atol=0.02)
    np.testing.assert_allclose(uniform.sampled_expected_count, [0.25] * 5)


ROWS = np.arange(10, dtype="float32").reshape(5, 2)
IDS = rt.SparseTensor([[0, 0], [0, 2], [1, 0], [3, 1]], rt.constant([1, 3, 0, 4], rt.int64), [4, 3])


@pytest.mark.parametrize(("combiner", "plain", "weighted"), [
    ("sum", [[8, 10], [0, 1], [0, 0], [8, 9]], [[5, 6.5], [0, 2], [0, 0], [24, 27]]),
    ("mean", [[4, 5], [0, 1], [0, 0], [8, 9]], [[10 / 3, 13 / 3], [0, 1], [0, 0], [8, 9]]),
    ("sqrtn", [[5.656854, 7.071068], [0, 1], [0, 0], [8, 9]], [[4.472136, 5.813777], [0, 1], [0, 0], [8, 9]]),
])
def test_embedding_lookup_sparse(combiner, plain, weighted):
    weights = rt.SparseTensor(IDS.indices, [1.0, 0.5, 2.0, 3.0], [4, 3])
    for run in (lambda f: f, rt.function):
        look_up = run(lambda rows, ids, weights: rt.nn.embedding_lookup_sparse(rows, ids, weights, combiner=combiner))
        np.testing.assert_allclose(look_up(ROWS, IDS, None), plain, rtol=1e-6)
        np.testing.assert_allclose(look_up(ROWS, IDS, weights), weighted, rtol=1e-6)


@pytest.mark.parametrize(("use", "error", "text"), [
    (lambda: rt.random.log_uniform_candidate_sampler([[1]], 1, 25, True, 20), rt.errors.InvalidArgumentError,
     "no 25 different classes below 20"),
    (lambda: rt.random.uniform_candidate_sampler([[1]], 2, 5, True, 20), ValueError, r"shape \[batch, 2\]"),
    (lambda: rt.nn.embedding_lookup_sparse(ROWS, [1], None), TypeError, "sp_ids is a SparseTensor"),
    (lambda: rt.nn.embedding_lookup_sparse(ROWS, IDS, None, combiner="max"), ValueError, "combiner must be one of"),
])
def test_errors(use, error, text):
    with pytest.raises(error, match=text):
        use()
