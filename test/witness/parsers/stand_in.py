"""Replaces packages that a parser imports and does not use, such as PyTorch: every name in them exists."""

import contextlib
import importlib.abc
import importlib.machinery
import io
import os
import sys
import traceback
import types
import typing


def passes_through(words, named):
    """Decorators give back what they decorate."""
    return words[0] if len(words) == 1 and not named and isinstance(words[0], (types.FunctionType, type)) else None


class StandIn(type(typing.Protocol)):
    """A class that can be inherited, called, subscripted, compared and used as a decorator; its attributes are of the same kind."""

    def __getattr__(cls, name):
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        made = stand_in(f"{cls.__name__}.{name}")
        type.__setattr__(cls, name, made)
        return made

    def __call__(cls, *words, **named):
        if not cls.__dict__.get("is_stand_in"):
            return super().__call__(*words, **named)
        return passes_through(words, named) or thing()

    def __getitem__(cls, _):
        return cls

    def __or__(cls, other):
        return object

    __ror__ = __or__

    def __repr__(cls):
        return cls.__name__


class Thing:
    """What a call of a stand-in returns."""

    def __init__(self, *words, **named):
        pass

    def __getattr__(self, name):
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return stand_in(name)

    def __call__(self, *words, **named):
        return passes_through(words, named) or self

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return False

    def __iter__(self):
        return iter(())


def one(*_):
    return 1


for kind in (StandIn, Thing):
    for operation in ("add", "sub", "mul", "floordiv", "truediv", "mod"):
        setattr(kind, f"__{operation}__", one)
        setattr(kind, f"__r{operation}__", one)
    for comparison in ("lt", "le", "gt", "ge"):
        setattr(kind, f"__{comparison}__", lambda *_: False)


def thing():
    return Thing()


def stand_in(name):
    return StandIn(name, (Thing,), {"is_stand_in": True, "__module__": name.rpartition(".")[0] or name})


class Module(types.ModuleType):
    __path__ = ()
    __version__ = "3.5.0"

    def __getattr__(self, name):
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        made = stand_in(f"{self.__name__}.{name}")
        setattr(self, name, made)
        return made


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def __init__(self, packages, known):
        self.packages, self.known = packages, known

    def find_spec(self, name, path=None, target=None):
        is_ours = name.split(".")[0] in self.packages
        return importlib.machinery.ModuleSpec(name, self, is_package=True) if is_ours else None

    def create_module(self, spec):
        return Module(spec.name)

    def exec_module(self, module):
        for name, value in self.known.get(module.__name__, {}).items():
            setattr(module, name, value)


def stand_in_for(packages, known):
    """
    @param packages: names of top level that exist from here on, with all that is under them.
    @param known: by module what its attributes really are, where the parser uses them.
    """
    sys.meta_path.insert(0, Finder(set(packages), known))


def unbuilt(*_, **__):
    raise RuntimeError("no compiler of CUDA")


PYTORCH = {
    "torch": {"__version__": "2.9.0"},
    "torch.utils.cpp_extension": {"CUDA_HOME": None, "load_inline": unbuilt},
    "torch.version": {"cuda": "12.8", "hip": None},
    "torch.cuda": {
        "get_device_capability": lambda *_: (9, 0),
        "get_device_properties": lambda *_: types.SimpleNamespace(major=9, minor=0, multi_processor_count=132),
        "is_available": lambda: True,
        "device_count": lambda: 8,
        "current_device": lambda: 0,
    },
    "torch.distributed": {"is_initialized": lambda: False, "is_available": lambda: True, "get_rank": lambda *_: 0},
}


def message(error, output):
    """Of what a parser raised: of an assertion without words, what it asserts."""
    if isinstance(error, SystemExit):
        return output.strip().splitlines()[-1]
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {str(error).strip() or frame.line} ({os.path.basename(frame.filename)}:{frame.lineno})"


def answers(cases, accept):
    """For each case the parser's refusal, or None. @param accept: raises where the parser does not accept."""
    found = []
    for case in cases:
        output = io.StringIO()
        try:
            with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
                accept(case)
            found.append(None)
        except (SystemExit, Exception) as error:
            found.append(message(error, output.getvalue()))
    return found
