import type { Evaluation } from '../../languages/shell/evaluation';
import type { ScriptTexts } from '../../languages/shell/script-texts';
import { flatten } from '../../languages/shell/words';
import { settingOfWord, type Launch, type LaunchFlag } from './launch';

/** Far more pieces than the variables of a script have together. */
const maximumSteps = 50_000;

/**
 * The variables that a script of settings leaves to the program after it, as flags by their names. A script that only another one starts
 * is complete in itself: what it does not set has the program's default.
 */
export function launchOfVariables(texts: ScriptTexts, { variables }: Evaluation, names: (name: string) => boolean): Launch {
  const budget = { left: maximumSteps };
  const flags = new Map<string, LaunchFlag>();
  for (const [name, { value, condition }] of variables) {
    if (!names(name)) continue;
    const part = { kind: 'ref', start: 0, end: 0, quoted: true, value, ...(condition && { condition }) } as const;
    const [word] = flatten([{ start: 0, end: 0, parts: [part] }], budget);
    if (word !== undefined) flags.set(name, settingOfWord(texts, name, word));
  }
  return { flags, program: null, isCommand: true, own: new Set(flags.keys()), isOfTorchrun: false, rest: [] };
}
