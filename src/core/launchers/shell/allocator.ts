import type { Evaluation } from '../../languages/shell/evaluation';
import type { ScriptTexts } from '../../languages/shell/script-texts';
import { flatten, valueText, wordText, type Element, type FlatWord, type Value } from '../../languages/shell/words';
import type { Fact, Facts } from '../../run/facts';
import { settingOfWord } from './launch';

/**
 * Variables that set PyTorch's caching allocator, the first that is set counts (`CUDAAllocatorConfig` of c10/cuda in PyTorch 2.9, which
 * renamed them; only the second is known before).
 */
const variableNames = ['PYTORCH_ALLOC_CONF', 'PYTORCH_CUDA_ALLOC_CONF'] as const;

/** Far more pieces than such a setting has. */
const mostSteps = 5000;

/** What a script sets of the allocator in the environment: `export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True`. */
export function allocatorFacts(texts: ScriptTexts, evaluation: Evaluation): Facts {
  for (const name of variableNames) {
    const word = wordOfVariable(evaluation, name);
    const fact = word === null ? null : segmentsFact(texts, name, word);
    if (fact !== null) return { expandableSegments: fact };
  }
  return {};
}

/** Of a command (`NAME=value torchrun`, `env NAME=value torchrun`), else of the script. */
function wordOfVariable({ commands, variables }: Evaluation, name: string): FlatWord | null {
  const budget = { left: mostSteps };
  for (const { words, environment } of commands) {
    const own = environment.get(name);
    if (own !== undefined) return firstWord({ value: own }, budget);
    const given = words.find((element) => isAssignment(element, name));
    if (given !== undefined) return flatten([given], budget)[0] ?? null;
  }
  const variable = variables.get(name);
  return variable === undefined ? null : firstWord(variable, budget);
}

function isAssignment({ parts: [first] }: Element, name: string): boolean {
  return first?.kind === 'text' && first.text?.startsWith(`${name}=`) === true;
}

function firstWord(
  { value, condition }: { readonly value: Value; readonly condition?: FlatWord[number]['condition'] },
  budget: { left: number },
): FlatWord | null {
  if (valueText(value) === null) return null;
  const part = { kind: 'ref', start: 0, end: 0, quoted: true, value, ...(condition && { condition }) } as const;
  return flatten([{ start: 0, end: 0, parts: [part] }], budget)[0] ?? null;
}

/** Null where nothing in the value is about segments, or it is only known when the script runs. */
function segmentsFact(texts: ScriptTexts, name: string, word: FlatWord): Fact<boolean> | null {
  const found = /(?:^|[=,])\s*expandable_segments\s*:\s*(true|false)\b/i.exec(wordText(word) ?? '');
  if (found === null) return null;
  const { place, isConditional } = settingOfWord(texts, name, word);
  const source = { kind: 'file', place, key: name } as const;
  return { value: found[1]?.toLowerCase() === 'true', source, name, ...(isConditional && { isConditional }) };
}
