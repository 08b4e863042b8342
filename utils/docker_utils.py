"""What the program needs of Docker: the engine, the sandbox image, what an earlier run left over."""

from utils.docker_engine import connect, engine_version
from utils.image_recipe import IMAGE, image_name
from utils.left_overs import OWNER_LABEL, owner_label_value, remove_left_overs
from utils.sandbox_image import ensure_image

__all__ = [
    "IMAGE",
    "OWNER_LABEL",
    "connect",
    "engine_version",
    "ensure_image",
    "image_name",
    "owner_label_value",
    "remove_left_overs",
]
