"""The tag follows what goes into the image, and nothing else."""

import re
import shutil
from pathlib import Path

import pytest

from utils import image_recipe
from utils.docker_utils import IMAGE, image_name


@pytest.fixture
def recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    copy = tmp_path / "image"
    shutil.copytree(image_recipe.RECIPE_DIR, copy)
    monkeypatch.setattr(image_recipe, "RECIPE_DIR", copy)
    return copy


def test_the_tag_is_short_and_differs_by_variant() -> None:
    assert re.fullmatch(IMAGE + ":[0-9a-f]{12}", image_name())
    assert re.fullmatch(IMAGE + "-full:[0-9a-f]{12}", image_name("full"))


def test_line_ends_and_comments_leave_the_tag(recipe: Path) -> None:
    before = image_name()
    for name in image_recipe.RECIPE_FILES:
        content = (recipe / name).read_bytes()
        (recipe / name).write_bytes(b"# a comment\r\n\r\n" + content.replace(b"\n", b"\r\n"))
    assert image_name() == before


@pytest.mark.parametrize("name", image_recipe.RECIPE_FILES)
def test_another_recipe_is_another_tag(recipe: Path, name: str) -> None:
    before = image_name()
    with (recipe / name).open("a", encoding="utf-8") as file:
        file.write("something else\n")
    assert image_name() != before


def test_the_full_image_has_all_that_the_default_has() -> None:
    default = [language.name for language in image_recipe.languages()]
    full = [language.name for language in image_recipe.languages("full")]
    assert default == ["python", "bash", "sh", "javascript", "c", "c++", "perl"]
    assert set(full) - set(default) == {"go", "rust", "java", "ruby", "php", "lua", "r", "typescript"}


def test_the_packages_that_generated_code_may_count_on_are_locked() -> None:
    packages = image_recipe.packages()
    wanted = {"numpy", "pandas", "matplotlib", "scipy", "sympy", "requests", "openpyxl", "pillow", "ipykernel"}
    assert wanted <= set(packages)
    assert all(re.fullmatch(r"[0-9][0-9A-Za-z.]*", version) for version in packages.values())
