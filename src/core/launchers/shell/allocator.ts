import type { Command, Evaluation } from '../../languages/shell/evaluation';
import type { ScriptTexts } from '../../languages/shell/script-texts';
import { flatten, valueText, wordText, type FlatWord, type Value } from '../../languages/shell/words';
import type { Fact, Facts } from '../../run/facts';
import { settingOfWord } from './launch';

/**
 * Variables that set PyTorch's caching allocator. The first that is set counts, whatever it is about (`CUDAAllocatorConfig` of c10/cuda
 * in PyTorch 2.9, which renamed them; only the second is known before).
 */
const variableNames = ['PYTORCH_ALLOC_CONF', 'PYTORCH_CUDA_ALLOC_CONF'] as const;

/** Far more pieces than such a setting has. */
const mostSteps = 5000;

/**
 * What a script sets of the allocator in the environment: `export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True`.
 * @param command the one that is planned; absent: none is.
 */
export function allocatorFacts(texts: ScriptTexts, evaluation: Evaluation, command?: Command): Facts {
  const budget = { left: mostSteps };
  for (const name of variableNames) {
    const word = (command && wordOfCommand(command, name, budget)) ?? wordOfScript(evaluation, name, budget);
    if (word === null) continue;
    const fact = segmentsFact(texts, name, word);
    return fact === null ? {} : { expandableSegments: fact };
  }
  return {};
}

const assignment = /^[A-Za-z_]\w*=/;

/** `NAME=value torchrun`, and `env NAME=value torchrun`: what comes after the program is its own. */
function wordOfCommand({ words, environment }: Command, name: string, budget: { left: number }): FlatWord | null {
  const own = environment.get(name);
  if (own !== undefined) return firstWord({ value: own }, budget);
  const flat = flatten(words.slice(0, mostBefore), budget);
  const start = flat.findIndex((word) => /(?:^|\/)env$/.test(wordText(word) ?? ''));
  if (start === -1) return null;
  for (const word of flat.slice(start + 1)) {
    const known = word[0]?.text ?? '';
    if (known.startsWith(`${name}=`)) return word;
    if (!assignment.test(known) && !known.startsWith('-')) return null;
  }
  return null;
}

/** Words before a program, at most. */
const mostBefore = 60;

function wordOfScript({ variables }: Evaluation, name: string, budget: { left: number }): FlatWord | null {
  const variable = variables.get(name);
  return variable === undefined ? null : firstWord(variable, budget);
}

function firstWord(
  { value, condition }: { readonly value: Value; readonly condition?: FlatWord[number]['condition'] },
  budget: { left: number },
): FlatWord | null {
  if (valueText(value) === null) return null;
  const part = { kind: 'ref', start: 0, end: 0, quoted: true, value, ...(condition && { condition }) } as const;
  return flatten([{ start: 0, end: 0, parts: [part] }], budget)[0] ?? null;
}

/** Null where nothing in the value is about segments, or it is only known when the script runs. Of a repeated key the last counts. */
function segmentsFact(texts: ScriptTexts, name: string, word: FlatWord): Fact<boolean> | null {
  const text = wordText(word) ?? '';
  const found = [...text.matchAll(/(?:^|[=,])\s*expandable_segments\s*:\s*(true|false)\b/gi)].at(-1);
  if (found === undefined) return null;
  const { place, isConditional } = settingOfWord(texts, name, word);
  const source = { kind: 'file', place, key: name } as const;
  return { value: found[1]?.toLowerCase() === 'true', source, name, ...(isConditional && { isConditional }) };
}
