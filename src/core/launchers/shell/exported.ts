import type { Place } from '../../domain/located';
import type { Command, Evaluation } from '../../languages/shell/evaluation';
import type { Variable } from '../../languages/shell/expand';
import type { ScriptTexts } from '../../languages/shell/script-texts';
import type { Settings } from './program';
import { flatten, wordText } from '../../languages/shell/words';
import { readLaunchFlags, settingOfWord, settingsText, type Launch, type LaunchFlag } from './launch';

/** Far more pieces than the variables of a script have together. */
const maximumSteps = 50_000;

/**
 * The variables that a script of settings leaves to the program after it, as flags by their names. A script that only another one starts
 * is complete in itself: what it does not set has the program's default.
 */
export function launchOfVariables(texts: ScriptTexts, { variables }: Evaluation, names: (name: string) => boolean): Launch {
  return launchWith(variableFlags(texts, variables, names));
}

/** The first command that starts `script`, with the variables that it gets and its flags; null where none does. */
export function launchOfScript(texts: ScriptTexts, evaluation: Evaluation, given: Settings, script: RegExp): Launch | null {
  const { words } = given;
  const budget = { left: maximumSteps };
  const runs = new Map<string, { readonly launch: Launch; readonly place: Place }>();
  for (const command of evaluation.commands) {
    const flat = flatten(command.words, budget);
    if (!flat.some((word) => script.test(wordText(word) ?? ''))) continue;
    const variables = new Map([...evaluation.variables, ...givenVariables(command)]);
    const settings = variableFlags(texts, variables, (name) => words(name) !== undefined);
    const launch = { ...launchWith(new Map([...settings, ...readLaunchFlags(texts, flat, { words })])), command };
    const text = settingsText(launch.flags, given);
    if (!runs.has(text)) runs.set(text, { launch, place: texts.placeAt(command) });
  }
  const [first, ...others] = runs.values();
  return first === undefined ? null : { ...first.launch, others: others.map(({ place }) => place) };
}

function givenVariables({ environment }: Command): readonly [string, Variable][] {
  return [...environment].map(([name, value]) => [name, { value }]);
}

function variableFlags(
  texts: ScriptTexts,
  variables: ReadonlyMap<string, Variable>,
  names: (name: string) => boolean,
): ReadonlyMap<string, LaunchFlag> {
  const budget = { left: maximumSteps };
  const flags = new Map<string, LaunchFlag>();
  for (const [name, { value, condition }] of variables) {
    if (!names(name)) continue;
    const part = { kind: 'ref', start: 0, end: 0, quoted: true, value, ...(condition && { condition }) } as const;
    const [word] = flatten([{ start: 0, end: 0, parts: [part] }], budget);
    if (word !== undefined) flags.set(name, settingOfWord(texts, name, word));
  }
  return flags;
}

function launchWith(flags: ReadonlyMap<string, LaunchFlag>): Launch {
  return { flags, program: null, isCommand: true, own: new Set(flags.keys()), isOfTorchrun: false, rest: [], others: [] };
}
