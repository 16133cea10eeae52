import { byDefault } from '../../domain/located';
import type { Layer } from '../../languages/layers';
import type { Fact, Facts } from '../../run/facts';
import { sentence } from '../../sentence';

/** A command is near the start of its script. */
const scanned = 262_144;

/**
 * The processes that ms-swift starts by the environment of its command (`NPROC_PER_NODE=8 swift sft`): one node without `NNODES`, and with
 * neither a single process, here on the one GPU that is visible. Source: modelscope/ms-swift at 3602360a, swift/cli/main.py 30 to 34.
 */
export function swiftProcesses({ file, text }: Layer): Facts {
  const start = text.slice(0, scanned);
  const [perNode, nodes] = ['NPROC_PER_NODE', 'NNODES'].map((name) => variableNumber(file, start, name));
  if (perNode === undefined && nodes === undefined) return /^[^#\n]*\bCUDA_VISIBLE_DEVICES=\d(?![\d,])/m.test(start) ? oneProcess : {};
  return {
    ...(perNode && { gpusPerNode: perNode }),
    nodes: nodes ?? byDefault(1, sentence`ms-swift starts one node where NNODES is not set`),
  };
}

const single = sentence`ms-swift starts one process where NPROC_PER_NODE is not set`;
const oneProcess: Facts = { nodes: byDefault(1, single), gpusPerNode: byDefault(1, single) };

/** A variable that a line sets to a number, or to another variable that a line before sets to one. */
function variableNumber(file: string, text: string, name: string): Fact<number> | undefined {
  const found = new RegExp(`^[^#\\n]*?\\b${name}=["']?(?:(\\d{1,6})\\b|\\$\\{?(\\w{1,60}))`, 'm').exec(text);
  if (found === null) return undefined;
  const [line, digits, variable] = found;
  if (digits === undefined)
    return variable === undefined || variable === name ? undefined : variableNumber(file, text.slice(0, found.index), variable);
  const end = found.index + line.length;
  const place = { file, range: { start: end - digits.length, end } };
  return Number(digits) === 0 ? undefined : { value: Number(digits), source: { kind: 'file', place, key: name }, name };
}
