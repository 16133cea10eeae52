import type { Finding } from '../../findings';
import type { TextRange } from '../../domain/located';
import { printable } from '../../text';
import type { Evaluation } from '../../languages/shell/evaluation';
import { readLaunchFlags, type Launch, type LaunchFlag, type LaunchFlags } from './launch';
import { flagWords } from '../megatron/megatron-flags';
import { isOfTokenizer } from '../tables/tokenizers';
import { isOfTemplate } from './templates';
import type { ScriptTexts } from '../../languages/shell/script-texts';
import { flatten } from '../../languages/shell/words';
import { sentence } from '../../sentence';

/** Far more pieces than the lists of a script have together. */
const maximumSteps = 50_000;

/** Flags that give sizes. Names of tokenizers do not count, since a plan reports a missing vocabulary itself; nor do paths. */
const knownFlags = (flags: LaunchFlags): [string, LaunchFlag][] =>
  [...flags].filter(([key]) => flagWords(key) !== undefined && !isOfTokenizer(key) && key !== 'deepspeed-config');

/** Names of unset variables that a size depends on. */
export function unknownVariables(flags: LaunchFlags): readonly string[] {
  const names = knownFlags(flags).flatMap(([, { pieces }]) =>
    pieces.flatMap(({ text, variable }) => (text === null && variable !== undefined ? [variable] : [])),
  );
  return [...new Set(names.map((name) => (isOfTemplate(name) ? name.replace(/_+$/, '') : name)))].sort();
}

/** Flags whose value is known only at run time. */
export function unknownRemarks(flags: LaunchFlags): readonly Finding[] {
  return knownFlags(flags).flatMap(([, { name, words, pieces }]) => {
    const word = words.find(({ text }) => text === null);
    if (word === undefined) return [];
    const variable = pieces.find(({ text }) => text === null)?.variable;
    const isNamed = variable !== undefined && /^\w+$/.test(variable) && !isOfTemplate(variable);
    const [shown, withDefault] = [`$${variable ?? ''}`, `\${${variable ?? ''}:-value}`];
    const isArgument = isNamed && /^[1-9]/.test(variable);
    const what = isArgument
      ? sentence`${shown}, an argument of the script, which`
      : isNamed
        ? sentence`${shown}, which`
        : sentence`a value that`;
    return [
      {
        code: 'flag-unknown-value',
        severity: 'information',
        place: word.place,
        message: sentence`${name} takes ${what} is only known when the script runs`,
        remedy: isNamed ? sentence`write ${withDefault} with the value to plan with` : sentence`write the number itself to plan with it`,
        fixes: [],
      },
    ];
  });
}

/** Flags that a condition decides about, which nobody can judge before the script runs: one remark for each condition. */
export function conditionalRemarks(texts: ScriptTexts, flags: LaunchFlags, { maybe }: Evaluation): readonly Finding[] {
  const names = new Map<string, { readonly condition: TextRange; readonly flags: Map<string, LaunchFlag> }>();
  const add = (condition: TextRange, flag: LaunchFlag): void => {
    const key = `${condition.start}:${condition.end}`;
    const entry = names.get(key) ?? { condition, flags: new Map<string, LaunchFlag>() };
    names.set(key, entry);
    if (!entry.flags.has(flag.name)) entry.flags.set(flag.name, flag);
  };
  for (const [, flag] of knownFlags(flags)) {
    const condition = flag.pieces.find((piece) => piece.condition !== undefined)?.condition;
    if (condition !== undefined) add(condition, flag);
  }
  const budget = { left: maximumSteps };
  for (const { value, condition } of maybe) {
    const words = flatten([{ start: 0, end: 0, parts: [{ kind: 'ref', start: 0, end: 0, quoted: false, value }] }], budget);
    for (const [key, flag] of knownFlags(readLaunchFlags(texts, words))) if (!isSame(flags.get(key), flag)) add(condition, flag);
  }
  return [...names.values()].map(({ condition, flags: found }) => remark(texts, condition, [...found.values()]));
}

/** That a script starts more than the run that is planned, at the first of the others. */
export function otherRunRemarks({ others }: Launch): readonly Finding[] {
  const [place] = others;
  if (place === undefined) return [];
  return [
    {
      code: 'launch-one-of-several',
      severity: 'information',
      place,
      message:
        others.length === 1
          ? sentence`This command starts another run than the planned one`
          : sentence`This command and ${others.length - 1} more start other runs than the planned one`,
      remedy: sentence`put it into a script of its own to plan it`,
      fixes: [],
    },
  ];
}

function isSame(a: LaunchFlag | undefined, b: LaunchFlag): boolean {
  return a !== undefined && JSON.stringify(a.words.map(({ text }) => text)) === JSON.stringify(b.words.map(({ text }) => text));
}

function remark(texts: ScriptTexts, condition: TextRange, flags: readonly LaunchFlag[]): Finding {
  const names = flags.map(({ name }) => name);
  const shown = names.length > 4 ? sentence`${names.slice(0, 4).join(', ')} and ${names.length - 4} more` : names.join(', ');
  const place = flags[0]?.words[0]?.place ?? flags[0]?.place ?? texts.placeAt(condition);
  return {
    code: 'flag-conditional',
    severity: 'information',
    place,
    message: sentence`${shown} ${names.length === 1 ? sentence`depends` : sentence`depend`} on "${printable(texts.text().slice(condition.start, condition.end).trim())}", which is only known when the script runs`,
    remedy: sentence`set the variable of that condition in the script; the plan assumes one case`,
    fixes: [],
  };
}
