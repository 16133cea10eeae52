import { byDefault } from '../../domain/located';
import type { Layer } from '../../languages/layers';
import type { Fact, Facts } from '../../run/facts';
import { sentence } from '../../sentence';
import type { KeyReader } from '../tables/keys';
import { word } from '../tables/reads';

/** A command is near the start of its script. */
const scanned = 262_144;

/**
 * The processes that ms-swift starts by the environment of its command (`NPROC_PER_NODE=8 swift sft`): one node without `NNODES`, and with
 * neither a single process, here on the one GPU that is visible. Source: modelscope/ms-swift at 3602360a, swift/cli/main.py 30 to 34.
 */
export function swiftProcesses({ file, text }: Layer): Facts {
  const start = text.slice(0, scanned);
  const perNode = variableNumber(file, start, 'NPROC_PER_NODE');
  const nodes = variableNumber(file, start, 'NNODES');
  if (perNode === undefined && nodes === undefined) return /^[^#\n]*\bCUDA_VISIBLE_DEVICES=\d(?![\d,])/m.test(start) ? oneProcess : {};
  return processCounts(perNode, nodes);
}

/** The same by `ENV` of a YAML, which ms-swift puts into its environment; values may be in quotes. */
export function swiftYamlProcesses(reader: KeyReader): Facts {
  const perNode = wholeNumber(reader.one('ENV.NPROC_PER_NODE', word));
  const nodes = wholeNumber(reader.one('ENV.NNODES', word));
  return perNode === undefined && nodes === undefined ? {} : processCounts(perNode, nodes);
}

function processCounts(perNode: Fact<number> | undefined, nodes: Fact<number> | undefined): Facts {
  return {
    ...(perNode && { gpusPerNode: perNode }),
    nodes: nodes ?? byDefault(1, sentence`ms-swift starts one node where NNODES is not set`),
  };
}

function wholeNumber(given: Fact<string> | undefined): Fact<number> | undefined {
  return given !== undefined && /^[1-9]\d{0,5}$/.test(given.value) ? { ...given, value: Number(given.value) } : undefined;
}

const single = sentence`ms-swift starts one process where NPROC_PER_NODE is not set`;
const oneProcess: Facts = { nodes: byDefault(1, single), gpusPerNode: byDefault(1, single) };

/** Variables that are followed from one to the next. */
const longestChain = 10;

/** A variable that a line sets to a number, or to another variable that a line before sets to one. */
function variableNumber(file: string, text: string, variable: string): Fact<number> | undefined {
  let [before, name] = [text, variable];
  for (let step = 0; step < longestChain; step += 1) {
    const found = new RegExp(`^[^#\\n]*?\\b${name}=["']?(?:(\\d{1,6})\\b|\\$\\{?(\\w{1,60}))`, 'm').exec(before);
    if (found === null) return undefined;
    const [line, digits, next] = found;
    if (digits !== undefined) return numberAt(file, found.index + line.length, digits, name);
    if (next === undefined || next === name) return undefined;
    [before, name] = [before.slice(0, found.index), next];
  }
  return undefined;
}

function numberAt(file: string, end: number, digits: string, name: string): Fact<number> | undefined {
  const place = { file, range: { start: end - digits.length, end } };
  return Number(digits) === 0 ? undefined : { value: Number(digits), source: { kind: 'file', place, key: name }, name };
}
