"""Files by name, and as strings."""
import pytest

import runtime as rt

gfile = rt.io.gfile
NotFound = rt.errors.NotFoundError


def test_files_by_name(tmp_path):
    folder = str(tmp_path)
    gfile.makedirs(gfile.join(folder, "x", "y"))
    gfile.makedirs(f"{folder}/x/y")
    gfile.mkdir(f"{folder}/x")
    with gfile.GFile(f"{folder}/a.txt", "w") as file:
        file.write("é\nb\n")
    assert gfile.exists(f"{folder}/a.txt") and gfile.isdir(f"{folder}/x") and not gfile.isdir(f"{folder}/a.txt")
    with gfile.GFile(f"{folder}/a.txt") as text, gfile.GFile(f"{folder}/a.txt", "rb") as data:
        assert list(text) == ["é\n", "b\n"] and data.read() == "é\nb\n".encode()
    gfile.copy(f"{folder}/a.txt", f"{folder}/b.txt")
    gfile.rename(f"{folder}/b.txt", f"{folder}/c.csv")
    assert gfile.listdir(folder) == ["a.txt", "c.csv", "x"]
    assert gfile.glob([f"{folder}/c*", f"{folder}/a*"]) == [f"{folder}/c.csv", f"{folder}/a.txt"]
    gfile.copy(f"{folder}/a.txt", f"{folder}/c.csv", overwrite=True)
    gfile.remove(f"{folder}/a.txt")
    gfile.rmtree(f"{folder}/x")
    assert gfile.listdir(folder) == ["c.csv"] and gfile.glob(f"{folder}/zz*") == []


@pytest.mark.parametrize("use, error", [
    (lambda d: gfile.listdir(f"{d}/no"), NotFound),
    (lambda d: gfile.remove(f"{d}/no"), NotFound),
    (lambda d: gfile.rmtree(f"{d}/no"), NotFound),
    (lambda d: gfile.GFile(f"{d}/no"), NotFound),
    (lambda d: gfile.mkdir(f"{d}/no/no"), NotFound),
    (lambda d: gfile.copy(f"{d}/no", f"{d}/b"), NotFound),
    (lambda d: gfile.copy(f"{d}/a", f"{d}/a"), rt.errors.AlreadyExistsError),
    (lambda d: gfile.rename(f"{d}/a", f"{d}/a"), rt.errors.AlreadyExistsError),
    (lambda d: gfile.mkdir(f"{d}/a"), rt.errors.AlreadyExistsError),
    (lambda d: gfile.remove(d), rt.errors.FailedPreconditionError),
    (lambda d: gfile.GFile(d), rt.errors.FailedPreconditionError),
    (lambda d: gfile.GFile(f"{d}/a", "q"), rt.errors.InvalidArgumentError),
])
def test_errors_of_names(tmp_path, use, error):
    (tmp_path / "a").write_text("a")
    with pytest.raises(error, match=r"test_files.py:\d+: "):
        use(str(tmp_path))


@pytest.mark.parametrize("way", [lambda f: f, rt.function, lambda f: rt.function(f, executor="numpy")])
def test_whole_files(tmp_path, way):
    copied = way(lambda a, b: (rt.io.write_file(b, rt.io.read_file(a) + "!"), rt.io.read_file(b))[1])
    (tmp_path / "a").write_bytes(b"\xff\r\n")
    b = rt.constant(str(tmp_path / "x" / "b"))
    assert copied(rt.constant(str(tmp_path / "a")), b).numpy() == b"\xff\r\n!"
    (tmp_path / "a").write_bytes(b"new")
    assert copied(rt.constant(str(tmp_path / "a")), b).numpy() == b"new!" == (tmp_path / "x" / "b").read_bytes()
    with pytest.raises(NotFound, match="no; No such file"):
        copied(rt.constant(str(tmp_path / "no")), b)


def test_whole_files_in_datasets(tmp_path):
    for name in "ab":
        rt.io.write_file(str(tmp_path / name), name * 2)
    names = rt.data.Dataset.list_files(str(tmp_path / "*"), shuffle=False)
    assert list(names.map(rt.io.read_file).as_numpy_iterator()) == [b"aa", b"bb"]


@pytest.mark.parametrize("use, error, message", [
    (lambda: rt.io.read_file(["a"]), ValueError, r"the name of a file must be a string scalar, not string\[1\]"),
    (lambda: rt.io.read_file(3), TypeError, "3 is no string"),
    (lambda: rt.io.write_file("a", 3), TypeError, "3 is no string"),
    (lambda: rt.io.read_file("/"), rt.errors.FailedPreconditionError, "Is a directory"),
    (lambda: rt.io.write_file("/", ""), rt.errors.FailedPreconditionError, "Is a directory"),
])
def test_bad_whole_files(use, error, message):
    with pytest.raises(error, match=message):
        use()
