import * as v from 'valibot';
import { ExpectedError } from '../../../core/errors';
import { own } from '../../../core/records';
import { say } from '../../../core/sentence';
import { lineColumnAt, orList, printable } from '../../../core/text';
import { closest } from '../../../core/suggest';
import { boundedAnswer, type Tool, type ToolAnswer, type ToolHost } from './tool';
import { tools } from './registry';

/**
 * Answers a call of a tool: what is asked is checked, and what is wrong with it, or with the files, is an answer that reports how to ask.
 * @throws CancelledError; what is a fault of ours.
 */
export async function runTool(name: string, input: unknown, host: ToolHost): Promise<ToolAnswer> {
  const tool = own(tools, name);
  if (tool === undefined) return refused(`There is no tool ${printable(name.slice(0, 60))}.`, `Call one of ${orList(Object.keys(tools))}.`);
  const checked = v.safeParse(tool.input, input);
  const problem = checked.success ? unknownName(tool, input) : issueText(checked.issues[0]);
  if (problem !== null) return refused(problem, exampleText(tool, name));
  const texts = new Map<string, string>();
  const seen: ToolHost = {
    ...host,
    open: async (path) => kept(await host.open(path)),
    read: async (from, path) => kept(await host.read(from, path)),
  };
  function kept<S extends { readonly file: string; readonly text: string }>(source: S): S {
    texts.set(source.file, source.text);
    return source;
  }
  try {
    return await tool.run(checked.output as never, seen);
  } catch (error) {
    if (!(error instanceof ExpectedError)) throw error;
    return refused(`${placeText(error, texts)}${error.message}; ${say(error.remedy)}.`, exampleText(tool, name));
  }
}

function refused(what: string, how: string): ToolAnswer {
  return { ...boundedAnswer([what.slice(0, 2000), how], { error: what.slice(0, 500) }), isError: true };
}

function exampleText({ example }: Tool, name: string): string {
  return `Ask as ${name} ${JSON.stringify(example)}.`;
}

/** The first name of a call that the tool does not take, with what was meant: a schema passes such over in silence. */
function unknownName({ input: { entries } }: Tool, input: unknown): string | null {
  const unknown = Object.keys(input as object).find((name) => !Object.hasOwn(entries, name));
  if (unknown === undefined) return null;
  const meant = closest(unknown, Object.keys(entries));
  return `It takes no ${printable(unknown.slice(0, 60))}${meant === null ? '' : `; did you mean ${meant}?`} Settings of the run go into "set".`;
}

function issueText(issue: v.BaseIssue<unknown>): string {
  const path = v.getDotPath(issue);
  const found = issue.received.slice(0, 60);
  return printable(`${path ?? 'The input'} is wrong: expected ${issue.expected?.slice(0, 200) ?? 'something else'}, received ${found}.`);
}

function placeText({ place }: ExpectedError, texts: ReadonlyMap<string, string>): string {
  if (place === undefined) return '';
  const { line, column } = lineColumnAt(texts.get(place.file) ?? '', place.range.start);
  return `${place.file}:${line}:${column}: `;
}
