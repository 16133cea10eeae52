"""
The keys that launchers' config files take, with their types, read from the config classes of each launcher without running them.

    python test/witness/keys.py FOLDER > test/fixtures/launcher-keys.json

FOLDER has a bare clone of each repository: `FOLDER/owner+name/repo`. A class field of another class that is read is a section; a field
that several classes have keeps the type of the first. Names and types are facts of their interfaces; help texts are left out.
"""
import ast
import json
import pathlib
import re
import subprocess
import sys

# launcher: repository, revision, files, and the class that each root key is of ("" is the root itself)
LAUNCHERS = {
    "torchtitan": ("pytorch/torchtitan", "v0.2.2", ["torchtitan/config/job_config.py"], {"": "JobConfig"}),
    "nanotron": (
        "huggingface/nanotron",
        "HEAD",
        ["src/nanotron/config/config.py", "src/nanotron/config/parallelism_config.py"],
        {"": "Config"},
    ),
    "gpt-neox": (
        "EleutherAI/gpt-neox",
        "HEAD",
        ["megatron/neox_arguments/neox_args.py", "megatron/neox_arguments/deepspeed_args.py"],
        {"": "*"},
    ),
    "megatron-core": (
        "NVIDIA/Megatron-LM",
        "HEAD",
        [
            "megatron/core/transformer/transformer_config.py",
            "megatron/core/model_parallel_config.py",
            "megatron/core/distributed/distributed_data_parallel_config.py",
            "megatron/core/optimizer/optimizer_config.py",
        ],
        {"model": "TransformerConfig", "ddp": "DistributedDataParallelConfig", "optimizer": "OptimizerConfig"},
    ),
    "megatron-bridge": (
        "NVIDIA-NeMo/Megatron-Bridge",
        "HEAD",
        [
            "src/megatron/bridge/training/config.py",
            "src/megatron/bridge/training/mixed_precision.py",
            "src/megatron/bridge/training/comm_overlap.py",
            "src/megatron/bridge/models/gpt_provider.py",
            "src/megatron/bridge/models/transformer_config.py",
        ],
        {"": "ConfigContainer", "model": "GPTModelProvider", "dataset": "GPTDatasetConfig"},
    ),
    "nemo-rl": (
        "NVIDIA-NeMo/RL",
        "HEAD",
        ["nemo_rl/models/policy/__init__.py", "nemo_rl/distributed/virtual_cluster.py"],
        {"policy": "PolicyConfig", "policy.megatron_cfg": "MegatronConfig", "policy.dtensor_cfg": "DTensorConfig", "cluster": "ClusterConfig"},
    ),
    "deepspeed-zero": ("deepspeedai/DeepSpeed", "HEAD", ["deepspeed/runtime/zero/config.py", "deepspeed/runtime/zero/offload_config.py"], {"zero_optimization": "DeepSpeedZeroConfig"}),
}

# classes that those of a launcher are made of, with what it calls them in front of their names
BASES = {
    "megatron-bridge": (
        ("MTrain", "NVIDIA/Megatron-LM", ["common_config.py", "training_config.py", "resilience_config.py"], "megatron/training/config"),
        (
            "MCore",
            "NVIDIA/Megatron-LM",
            [
                "transformer/transformer_config.py",
                "model_parallel_config.py",
                "distributed/distributed_data_parallel_config.py",
                "optimizer/optimizer_config.py",
                "datasets/gpt_dataset.py",
                "datasets/blended_megatron_dataset_config.py",
            ],
            "megatron/core",
        ),
    ),
}

# launchers whose keys are in other than classes
MEGATRON = ("NVIDIA/Megatron-LM", "HEAD")
NEMO = ("NVIDIA/NeMo", "HEAD", "examples/nlp/language_modeling/conf/megatron_gpt_config.yaml")
NEMO_MODELS = "nemo/collections/nlp/models/language_modeling"
PRIMUS = ("AMD-AGI/Primus", "HEAD", "primus/configs/modules/megatron/primus_megatron_module.yaml")
PRIMUS_BRIDGE = ("AMD-AGI/Primus", "HEAD", "examples/megatron_bridge/configs/MI300X")
FLAGSCALE = ("FlagOpen/FlagScale", "HEAD", "flagscale/runner")
DEEPSPEED = ("deepspeedai/DeepSpeed", "HEAD", "deepspeed/runtime/constants.py deepspeed/runtime/config.py deepspeed/runtime/tensor_parallel/config.py")


def git(folder, *words):
    return subprocess.run(["git", f"--git-dir={folder}", *words], capture_output=True, check=True, text=True).stdout


def classes_of(folder, revision, files):
    found = {}
    for name in files:
        for node in ast.walk(ast.parse(git(folder, "show", f"{revision}:{name}"))):
            if isinstance(node, ast.ClassDef):
                found[node.name] = node
    return found


def fields(classes, name, seen=()):
    node = classes.get(name)
    if node is None or name in seen:
        return
    for each in node.body:
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name):
            yield each.target.id, each.annotation
    for base in node.bases:
        if isinstance(base, (ast.Name, ast.Attribute)):
            yield from fields(classes, base.id if isinstance(base, ast.Name) else base.attr, (*seen, name))


def types(node):
    """Plain types and allowed values of an annotation."""
    if isinstance(node, ast.Constant):
        return [node.value] if isinstance(node.value, str) else []
    if isinstance(node, ast.Subscript):
        head = ast.unparse(node.value).split(".")[-1]
        if head == "Literal":
            items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            return [f"={item.value}" for item in items if isinstance(item, ast.Constant)]
        if head in ("list", "List", "Sequence", "tuple", "Tuple"):
            return ["list"]
        if head in ("dict", "Dict"):
            return ["dict"]
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        return types(parts[0]) if head == "Annotated" else [kind for part in parts for kind in types(part)]
    if isinstance(node, ast.BinOp):
        return types(node.left) + types(node.right)
    if isinstance(node, ast.Name):
        return [node.id]
    if isinstance(node, ast.Attribute):
        return [node.attr]
    return []


def keys_of(classes, name, prefix, out, depth=0):
    names = sorted(classes) if name == "*" else [name]
    for owner in names:
        for field, annotation in fields(classes, owner):
            kinds = sorted(set(types(annotation)))
            path = f"{prefix}.{field}" if prefix else field
            sections = [kind for kind in kinds if kind in classes]
            if sections and depth < 4:
                for section in sections:
                    keys_of(classes, section, path, out, depth + 1)
            plain = [kind for kind in kinds if kind not in classes]
            out.setdefault(path, " ".join(plain))


def flags_of(place, revision):
    """Flags of Megatron-LM as `flags.py` reads them."""
    script = pathlib.Path(__file__).with_name("flags.py")
    rows = subprocess.run([sys.executable, script, f"{place}@{revision}"], capture_output=True, check=True, text=True).stdout
    for row in rows.splitlines():
        name, words, kind, _, choices = row.split(" ")
        plain = {"none": "bool", "many": "list"}.get(words, "str" if kind == "-" else kind)
        yield name, plain if choices == "-" else " ".join(f"={each}" for each in choices.split("|"))
    for name in git(place, "ls-tree", "-r", "--name-only", revision, "megatron/core", "megatron/training").splitlines():
        if name.endswith("_config.py"):
            for names in re.findall(r'"arg_names": *\[([^\]]*)\]', git(place, "show", f"{revision}:{name}")):
                for flag in re.findall(r'"--([\w-]+)"', names):
                    yield flag, ""


def paths_of(text):
    """Paths of a YAML in blocks; it has no types."""
    above = []
    for line in text.splitlines():
        found = re.match(r"( *)([\w-]+):", line)
        if found:
            depth = len(found[1])
            above = [each for each in above if each[0] < depth] + [(depth, found[2])]
            yield ".".join(name for _, name in above), ""


def nemo_keys(place, revision, config):
    """Keys of its YAML, and those that its models ask the configuration for."""
    yield from paths_of(git(place, "show", f"{revision}:{config}"))
    for name in ("megatron_gpt_model.py", "megatron_base_model.py"):
        text = git(place, "show", f"{revision}:{NEMO_MODELS}/{name}")
        for section, key in re.findall(r"\bcfg\.(optim\.)?get\(\s*['\"](\w+)['\"]", text):
            yield f"model.{section}{key}", ""


def example_keys(place, revision, folder):
    """Keys of the examples in a folder."""
    for name in git(place, "ls-tree", "-r", "--name-only", revision, f"{folder}/").splitlines():
        if name.endswith(".yaml"):
            yield from paths_of(git(place, "show", f"{revision}:{name}"))


def runner_keys(place, revision, folder):
    """What FlagScale's runners ask `experiment.runner` for."""
    for name in git(place, "ls-tree", "-r", "--name-only", revision, folder).splitlines():
        if name.endswith(".py"):
            for key in re.findall(r"runner(?:_config)?\.get\(\s*['\"](\w+)['\"]", git(place, "show", f"{revision}:{name}")):
                yield f"experiment.runner.{key}", ""


def words_of(place, revision, files):
    """Every word that DeepSpeed's config code has as a string or a field: its keys are among them."""
    for name in files.split():
        for node in ast.walk(ast.parse(git(place, "show", f"{revision}:{name}"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and re.fullmatch(r"\w+", node.value):
                yield node.value, ""
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                yield node.target.id, ""


def table(place, repository, revision, keys):
    commit = git(place, "rev-parse", "--short=8", f"{revision}^{{commit}}").strip()
    return {"source": f"{repository}@{commit}", "keys": dict(sorted(keys.items()))}


def clone(folder, repository):
    return f"{folder}/{repository.replace('/', '+')}/repo"


def main(folder):
    tables = {}
    for launcher, (repository, revision, files, roots) in LAUNCHERS.items():
        place = clone(folder, repository)
        classes = classes_of(place, revision, files)
        for prefix, other, names, under in BASES.get(launcher, ()):
            for name, node in classes_of(clone(folder, other), "HEAD", [f"{under}/{each}" for each in names]).items():
                classes[prefix + name] = node
                classes.setdefault(name, node)
        out = {}
        for prefix, name in roots.items():
            if name != "*" and name not in classes:
                sys.exit(f"{launcher}: no class {name}")
            keys_of(classes, name, prefix, out)
        tables[launcher] = table(place, repository, revision, out)
    for launcher, (repository, revision, *files), read in (
        ("megatron-lm", MEGATRON, flags_of),
        ("nemo", NEMO, nemo_keys),
        ("primus", PRIMUS, lambda place, revision, name: paths_of(git(place, "show", f"{revision}:{name}"))),
        ("primus-bridge", PRIMUS_BRIDGE, example_keys),
        ("flagscale", FLAGSCALE, runner_keys),
        ("deepspeed", DEEPSPEED, words_of),
    ):
        place = clone(folder, repository)
        tables[launcher] = table(place, repository, revision, dict(read(place, revision, *files)))
    print(json.dumps(tables, indent=1))


main(sys.argv[1])
