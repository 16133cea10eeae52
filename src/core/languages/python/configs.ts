import type { Finding } from '../../findings';
import { sentence } from '../../sentence';
import { orList, quoted } from '../../text';
import type { Base, Layer } from '../layers';
import { evaluateFunction } from './evaluate';
import { parsePython, modulePaths, type PythonModule } from './module';

/** A config of a module that defines several, and findings on the choice. */
export interface PickedConfig {
  readonly own: PythonModule;
  /** The modules that it builds on. */
  readonly modules: readonly PythonModule[];
  /** The function that makes the config. */
  readonly name: string;
  readonly remarks: readonly Finding[];
}

/** A comment that chooses the planned config. */
const pick = /^[ \t]*#[ \t]*terapipe-config:[ \t]*(\w+)/m;
/** So many others are named, and offered. */
const mostOffered = 12;

/** The files that a module takes functions from which make configs, by its imports. */
export function importedConfigs(layer: Layer, isConfigModule: (module: string) => boolean): readonly Base[] {
  const { imports } = parsePython(layer);
  const modules = new Map([...imports.values()].filter(({ module }) => isConfigModule(module)).map((each) => [each.module, each]));
  return [...modules.values()].flatMap(({ module, node }) => {
    const paths = modulePaths(module);
    return paths.length === 0 ? [] : [{ written: module, place: { file: layer.file, range: { start: node.from, end: node.to } }, paths }];
  });
}

/** The config that a comment names, else the first of the file; null where a file has none. @param makes what returns one. */
export function pickedConfig(layers: readonly Layer[], makes: (header: string) => boolean): PickedConfig | null {
  const modules = layers.map(parsePython);
  const own = modules.at(-1);
  if (own === undefined) return null;
  const names = [...own.functions]
    .filter(([name, node]) => !name.startsWith('_') && makes(functionHeader(own, node)))
    .map(([name]) => name);
  const [, wanted] = pick.exec(own.text) ?? [];
  const name = names.find((each) => each === wanted) ?? names[0];
  if (name === undefined) return null;
  const others = names.filter((each) => each !== name && evaluateFunction(modules, own, each) !== null).slice(0, mostOffered);
  return { own, modules: modules.slice(0, -1), name, remarks: names.length === 1 ? [] : [pickRemark(own, name, names.length, others)] };
}

/** A function's first line, up to its body. */
function functionHeader({ text }: PythonModule, node: { readonly from: number; readonly to: number }): string {
  return text.slice(node.from, Math.min(node.to, node.from + 1000)).split(/:[ \t]*(?:#[^\n]*)?\n/)[0] ?? '';
}

/**
 * @finding config-of-module
 * A module in Python defines several configs, and one run is planned at a time: the first, or the one that a comment `# terapipe-config:
 * NAME` names. The quick fixes write that comment.
 * @example a `config_registry.py` of TorchTitan with three functions. ""llama3_8b" is planned, one of 3 configs of this module"
 * @source TorchTitan and Megatron-Bridge are started with the name of one config of a module (`--config`, `--recipe`).
 * @ignore that one is meant.
 */
function pickRemark(own: PythonModule, name: string, count: number, others: readonly string[]): Finding {
  const { file, text } = own;
  const at = own.functions.get(name)?.getChild('VariableName');
  const written = pick.exec(text);
  const range = written === null ? { start: 0, end: 0 } : { start: written.index, end: written.index + written[0].length };
  return {
    code: 'config-of-module',
    severity: 'information',
    place: { file, range: { start: at?.from ?? 0, end: at?.to ?? 0 } },
    message: sentence`${quoted(name)} is planned, one of ${count} configs of this module`,
    remedy:
      others.length === 0
        ? sentence`none of the others can be followed`
        : sentence`for another, write a comment such as # terapipe-config: ${orList(others)}`,
    fixes: others.map((other) => ({
      title: sentence`Plan ${quoted(other)}`,
      preferred: false,
      edits: [{ place: { file, range }, newText: `# terapipe-config: ${other}${written === null ? '\n' : ''}` }],
    })),
  };
}
