"""Libraries that open windows show their figures here instead.

Each change is made when the module is imported, so code that shows nothing pays nothing. `plt.show()`
closes what it showed, as it does in notebooks and when windows are closed.
"""

from __future__ import annotations

import sys

from .displays import PLOTLY, display, settled, show_open

TYPE_CHECKING = False  # As in `typing`, which no jar needs.
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class Last:
    """The figure that was shown last. Code often saves it after it was shown, and so closed."""

    figure: Any = None


def pyplot(module: Any) -> None:
    """`matplotlib.pyplot`: shows what is open, and closes it."""
    plain = module.savefig

    def show(*args: Any, **kwargs: Any) -> None:
        """Shows all open figures and closes them."""
        open_figures = module.get_fignums()
        if open_figures:
            Last.figure = module.gcf()
            for number in open_figures:
                # It was asked for, so one that was saved is shown too.
                module.figure(number).stale = True
            show_open()
            module.close("all")

    def savefig(*args: Any, **kwargs: Any) -> Any:
        if not module.get_fignums() and Last.figure is not None:
            return Last.figure.savefig(*args, **kwargs)
        return plain(*args, **kwargs)

    show.__module__ = module.__name__
    module.show = show
    module.savefig = like(plain, savefig)


def figures(module: Any) -> None:
    """`matplotlib.figure`: a figure by itself is shown, and one that is saved need not be shown too."""
    plain = module.Figure.savefig

    def show(self: Any, warn: bool = True) -> None:
        """Shows the figure."""
        display(self)

    def savefig(self: Any, *args: Any, **kwargs: Any) -> Any:
        answer = plain(self, *args, **kwargs)
        settled(self)
        return answer

    module.Figure.show = show
    module.Figure.savefig = like(plain, savefig)


def plotly_figures(module: Any) -> None:
    """`plotly.basedatatypes`: there is no browser to open."""

    def show(self: Any, *args: Any, **kwargs: Any) -> None:
        """Shows the figure."""
        display(self)

    module.BaseFigure.show = show


def plotly_renderers(module: Any) -> None:
    """`plotly.io._renderers`: the same for `plotly.io.show`, which also takes a dict."""

    def show(fig: Any, *args: Any, **kwargs: Any) -> None:
        """Shows the figure."""
        display({PLOTLY: fig} if isinstance(fig, dict) else fig)

    module.show = show


def pictures(module: Any) -> None:
    """`PIL.Image`: there is no program that shows pictures."""

    def show(self: Any, title: str | None = None) -> None:
        """Shows the picture."""
        display(self)

    module.Image.show = show


def notebook_display(module: Any) -> None:
    """`IPython.core.display_functions`, where that is installed: it would print."""
    module.display = display


def like(plain: Callable[..., Any], made: Callable[..., Any]) -> Callable[..., Any]:
    """What stands for a function has its name and its words."""
    made.__name__, made.__qualname__ = plain.__name__, plain.__qualname__
    made.__doc__, made.__module__ = plain.__doc__, plain.__module__
    made.__wrapped__ = plain  # type: ignore[attr-defined] # for `inspect.signature`
    return made


# By the name of the module.
SHOWN: dict[str, Callable[[Any], None]] = {
    "matplotlib.pyplot": pyplot,
    "matplotlib.figure": figures,
    "plotly.basedatatypes": plotly_figures,
    "plotly.io._renderers": plotly_renderers,
    "PIL.Image": pictures,
    "IPython.core.display_functions": notebook_display,
}


def offer_notebook(code: str) -> None:
    """Code that is written for notebooks finds `IPython.display`, where IPython is not installed."""
    # Libraries look for IPython too, to find out whether this is a notebook. They do not find it.
    if "IPython" in code and Notebook not in sys.meta_path:
        sys.meta_path.append(Notebook)


class Notebook:
    """Finds what stands for `IPython.display`, after all other finders have not."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> Any:
        """The specification of the two modules that there are."""
        if name not in ("IPython", "IPython.display"):
            return None
        from importlib.machinery import ModuleSpec

        return ModuleSpec(name, Notebook, is_package=name == "IPython")  # type: ignore[arg-type]

    @staticmethod
    def create_module(spec: Any) -> None:
        """An ordinary module."""

    @staticmethod
    def exec_module(module: Any) -> None:
        """Fills it."""
        if module.__name__ == "IPython":
            # What libraries ask, to hear that this is no notebook.
            module.version_info, module.__version__ = (9, 0, 0), "9.0.0"
            module.get_ipython = lambda: None
        else:
            module.__dict__.update(NOTEBOOK)


class Shown:
    """Data of one media type, from the code or from a file."""

    media_type = "text/plain"

    def __init__(
        self, data: Any = None, url: str | None = None, filename: str | None = None, **_: Any
    ) -> None:
        if url is not None:
            raise ValueError("there is no network here: pass data= or filename=")
        if data is None and filename is not None:
            with open(filename, "rb") as file:
                data = file.read()
        self.data = data

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return {self.media_type: self.data}


class HTML(Shown):
    """A part of a page."""

    media_type = "text/html"


class SVG(Shown):
    """A drawing."""

    media_type = "image/svg+xml"


class Markdown(Shown):
    """Text with marks."""

    media_type = "text/markdown"


class Latex(Shown):
    """A formula."""

    media_type = "text/latex"


class Math(Latex):
    """A formula without its signs."""

    def __init__(self, data: Any = None, **named: Any) -> None:
        super().__init__(f"$\\displaystyle {str(data).strip('$')}$", **named)


class Pretty(Shown):
    """Text."""


class JSON(Shown):
    """Any value."""

    media_type = "application/json"


class Image(Shown):
    """A picture, by what its bytes are."""

    def __init__(
        self,
        data: Any = None,
        url: str | None = None,
        filename: str | None = None,
        format: str | None = None,
        **_: Any,
    ) -> None:
        if isinstance(data, str) and filename is None:
            data, filename = None, data
        super().__init__(data, url, filename)
        begins = bytes((self.data or b"")[:4])
        kinds = ((b"\xff\xd8\xff", "image/jpeg"), (b"GIF8", "image/gif"))
        self.media_type = next(
            (kind for start, kind in kinds if begins[: len(start)] == start), "image/png"
        )


def clear_output(wait: bool = False) -> None:
    """What was shown stays."""


NOTEBOOK: dict[str, Any] = {
    "display": display,
    "clear_output": clear_output,
    **{kind.__name__: kind for kind in (HTML, SVG, Markdown, Latex, Math, Pretty, JSON, Image)},
}
for _kind in (HTML, SVG, Markdown, Latex, Math, Pretty, JSON, Image):
    _kind.__module__ = "IPython.display"
