"""Released Keras is found to have the places where this backend is chosen, and runs on it."""
from __future__ import annotations

import ast
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from runtime.keras import released
from tests.keras.outcomes import sources


def run(text: str, *options: str) -> str:
    """What a script prints, in a process of its own."""
    done = subprocess.run([sys.executable, *options, "-c", textwrap.dedent(text)] if text else
                          [sys.executable, *options], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("module", released.BRANCHES)
def test_each_chain_gets_a_branch(module: str) -> None:
    path = sources().parent.parent.joinpath(*module.split("."))
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    tree = released.adapted(module, path.read_text())
    tests = [ast.unparse(node.test) for node in ast.walk(tree) if isinstance(node, ast.If)]
    assert any(test.endswith("backend() == 'runtime'") for test in tests)


def test_a_release_without_the_chain_is_refused() -> None:
    for module in (*released.BRANCHES, *released.CHANGES):
        with pytest.raises(ImportError, match="chooses its backend in another way"):
            released.adapted(module, "import os\n")


def test_keras_runs_on_this_backend_without_another_framework() -> None:
    printed = run("""
        import sys
        class Absent:
            def find_spec(self, name, path=None, target=None):
                if name.partition(".")[0] in ("tensorflow", "jax", "torch"):
                    raise ModuleNotFoundError(name, name=name)
        sys.meta_path.insert(0, Absent())
        import runtime as tf
        assert "keras" not in sys.modules and "runtime.keras" not in sys.modules
        tf.keras.layers
        import keras
        print(keras.config.backend(), tf.keras.Model is keras.Model, tf.keras.backend.backend())
        """)
    assert printed == "runtime True runtime\n"


@pytest.fixture(scope="module")
def with_other_frameworks(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What a process prints in which other frameworks are installed, and TensorFlow is loaded at the end."""
    folder = tmp_path_factory.mktemp("installed")
    for name in ("tensorflow", "jax", "torch", "sklearn"):
        (folder / f"{name}.py").write_text("raise AssertionError('loaded')")
    return run(f"""
        import sys
        sys.path.insert(0, {str(folder)!r})
        import runtime as rt, runtime.keras, keras, numpy as np
        keras.utils.set_random_seed(0)
        model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
        model.compile("adam", "mse")
        model.fit(np.ones((4, 2)), np.ones((4, 1)), verbose=0)
        model.save({str(folder / "model.keras")!r})
        keras.models.load_model({str(folder / "model.keras")!r})
        print(sorted({{"tensorflow", "jax", "torch", "sklearn"}} & sys.modules.keys()))
        print(keras.layers.Normalization(mean=1.0, variance=4.0)(np.array([[3.0, 5.0]])).numpy().tolist())
        def draw():
            keras.utils.set_random_seed(3)
            return rt.random.uniform([]).numpy()
        print(draw() == draw())
        open({str(folder / "tensorflow.py")!r}, "w").write("class random: set_seed = print")
        import tensorflow
        draw()
        open({str(folder / "sklearn.py")!r}, "w").write("print('sklearn is asked for'); raise ImportError")
        print("SKLearnClassifier" in dir(keras.wrappers), hasattr(keras.wrappers, "Other"))
        print(keras.wrappers.SKLearnClassifier.__name__)
        """).splitlines()


def test_other_frameworks_that_are_installed_are_not_loaded(with_other_frameworks: list[str]) -> None:
    assert with_other_frameworks[0] == "[]"


def test_preprocessing_layers_find_the_backend_of_the_moment(with_other_frameworks: list[str]) -> None:
    assert with_other_frameworks[1] == "[[1.0, 2.0]]"


def test_the_seed_of_keras_is_that_of_this_runtime_and_of_tensorflow_if_it_is_loaded(
        with_other_frameworks: list[str]) -> None:
    assert with_other_frameworks[2:4] == ["True", "3"]


def test_wrappers_load_scikit_learn_when_they_are_asked_for(with_other_frameworks: list[str]) -> None:
    assert with_other_frameworks[4] == "True False"
    assert with_other_frameworks[5] == "sklearn is asked for" and with_other_frameworks[-1] == "SKLearnClassifier"


def test_the_cache_of_byte_code_is_that_of_keras() -> None:
    """The adapted modules are compiled anew: no other backend meets their code."""
    text = "import keras.src.backend.config as c\nprint(c._BACKEND)"
    assert run(f"import runtime.keras\n{text}") == "runtime\n"
    loader = "import importlib.util as u\ns = u.find_spec('keras')\nimport pathlib, marshal\n" \
             "p = pathlib.Path(s.origin).parent / 'src/backend/config.py'\n" \
             "c = pathlib.Path(u.cache_from_source(str(p)))\n" \
             "print(c.exists() and \"'runtime'\" in repr(marshal.loads(c.read_bytes()[16:]).co_consts))"
    assert run(loader) == "False\n"


def test_another_backend_that_runs_already_is_refused(tmp_path: object) -> None:
    printed = run("""
        import sys, types
        config = types.ModuleType("keras.src.backend.config")
        config.backend = lambda: "jax"
        sys.modules[config.__name__] = config
        try:
            import runtime.keras
        except ImportError as error:
            print(error)
        """)
    assert printed == "keras was imported before, on the backend 'jax': import runtime.keras first\n"


def test_a_script_runs_unchanged_by_the_command(tmp_path: object) -> None:
    script = f"{tmp_path}/train.py"
    with open(script, "w") as file:
        file.write("import sys\nimport keras\nprint(__name__, sys.argv[1:], keras.config.backend())\n")
    assert run("", "-m", "runtime", "keras", script, "--epochs", "2") == "__main__ ['--epochs', '2'] runtime\n"


def test_a_missing_keras_says_which_extra() -> None:
    printed = run("""
        import sys
        import importlib.util
        find = importlib.util.find_spec
        importlib.util.find_spec = lambda name, *rest: None if name == "keras" else find(name, *rest)
        import runtime as tf
        try:
            tf.keras
        except ModuleNotFoundError as error:
            print(error)
        """)
    assert printed == "keras is not installed: pip install 'autograph[keras]'\n"


def test_the_tensorboard_callback_writes_summaries_and_profiles(tmp_path: Path) -> None:
    printed = run(f"""
        import runtime as tf, numpy as np, glob, gzip, json
        keras = tf.keras
        model = keras.Sequential([keras.layers.Dense(8, activation="relu"), keras.layers.Dense(1)])
        model.compile("adam", "mse")
        callback = keras.callbacks.TensorBoard({str(tmp_path)!r}, histogram_freq=1, profile_batch=(3, 5))
        model.fit(np.ones((320, 4)), np.ones((320, 1)), epochs=1, verbose=0, callbacks=[callback])
        (path,) = glob.glob({str(tmp_path)!r} + "/train/plugins/profile/*/*.trace.json.gz")
        events = json.loads(gzip.open(path).read())["traceEvents"]
        names = [event["name"] for event in events]
        print(sorted(name for name in names if name.startswith("Profiled")),
              sorted({{event["args"]["scope"] for event in events if event["name"] == "matmul"}}))
        """)
    assert printed == ("['Profiled batch 2', 'Profiled batch 3', 'Profiled batch 4'] "
                       "['sequential/dense', 'sequential/dense_1']\n")
    (events,) = tmp_path.glob("train/events*")
    written = events.read_bytes()
    assert b"epoch_loss" in written and b"kernel/histogram" in written
    assert b"graph_keras_model" in written and b"adam/" in written and b"sequential/dense/matmul" in written
