"""A model with an attached encoding, from the folder that its `save_pretrained` wrote."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ordinate.core.errors import InputError
from ordinate.interop import attention
from ordinate.interop.attach import attach_hf
from ordinate.interop.installed import transformers


def load_hf(folder: str | Path, **settings: Any) -> Any:
    """The model, with the encoding that its configuration names attached and with its weights, in evaluation mode.

    settings: of transformers' `from_pretrained`, such as `dtype`.
    """
    hf, folder = transformers(), Path(folder)
    if not (folder / "config.json").is_file():
        raise InputError(f"{folder} is no folder with a config.json: name one that save_pretrained wrote")
    config = hf.AutoConfig.from_pretrained(folder)
    if not hasattr(config, attention.NAME):
        raise InputError(f"{folder} holds no attached encoding: load it with from_pretrained of transformers")
    description = getattr(config, attention.NAME)
    if description is None:
        raise InputError(
            f"the encoding in {folder} was attached as an object that no text describes: make the model, attach the"
            " object again, and load the weights with load_state_dict"
        )
    kind = getattr(hf, (config.architectures or [""])[0], None)
    if kind is None:
        raise InputError(f"{folder} is of {config.architectures}, which transformers {hf.__version__} does not have")
    delattr(config, attention.NAME)
    config._attn_implementation = None  # the usual one, until it is attached
    with quiet(hf):  # it would warn of the encoding's weights, and of positions of its own that it makes up
        model = kind.from_pretrained(folder, config=config, **settings)
    attached = attach_hf(model, **description)
    attached.load_state_dict(_own_weights(hf, folder, attached))
    return model.eval()


def _own_weights(hf: Any, folder: Path, attached: Any) -> dict[str, Any]:
    """The encodings' weights, under the names that they have in `attached`."""
    found: dict[str, Any] = {}
    for file in sorted(folder.glob("*.safetensors")):
        for name, weight in hf.modeling_utils.load_state_dict(str(file)).items():
            _, inside, own = f".{name}".partition(f".{attention.NAME}.")
            found |= {own: weight} if inside else {}
    missing = attached.state_dict().keys() - found.keys()
    if missing:
        raise InputError(f"{folder} lacks {sorted(missing)[0]} of the attached encoding: save the whole model again")
    return found


@contextmanager
def quiet(hf: Any) -> Iterator[None]:
    """Without the warnings and progress bars of transformers."""
    before, bars = hf.logging.get_verbosity(), hf.logging.is_progress_bar_enabled()
    hf.logging.set_verbosity_error()
    hf.logging.disable_progress_bar()
    try:
        yield
    finally:
        hf.logging.set_verbosity(before)
        if bars:
            hf.logging.enable_progress_bar()
