import { readFileSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { formerCodes } from '../../src/core/rules/switched-off';
import { rules } from '../../src/core/rules/table';

const root = resolve(import.meta.dirname, '../..');

/** What docs/findings.md shows of a finding: Markdown. */
export interface FindingPage {
  readonly code: string;
  /** What it means and what to do. */
  readonly doc: string;
  /** What is written, and the text on it; a rule's example is made of what its test breaks it with. */
  readonly example?: string;
  /** The line of the launcher that stops or does otherwise, or why it is slower or larger. */
  readonly source: string;
  /** When it is right to leave things as they are. */
  readonly ignore: string;
}

/** The commits of which `Megatron-LM, path, line` counts lines. */
const commits: Readonly<Record<string, string>> = { 'Megatron-LM': 'd98e8a64', TorchTitan: 'b5bcd76c', DeepSpeed: 'edaa7221' };

/** When it is right to ignore what a launcher refuses. */
const neverStarts =
  'the launcher that you run is an older one or a fork without this check, or what is written here is overridden when it starts.';

/**
 * The page of every finding, from the comment above the code that finds it: rules in the order of their table, then the others.
 * @throws Error where a rule has no page, or a code has two.
 */
export function findingPages(): readonly FindingPage[] {
  const folder = join(root, 'src');
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
  const pages = files.sort().flatMap((name) => pagesIn(readFileSync(join(folder, name), 'utf8')));
  const byCode = new Map(pages.map((page) => [page.code, page]));
  const twice = pages.find((page) => byCode.get(page.code) !== page);
  if (twice !== undefined) throw new Error(`two comments have "@finding ${twice.code}"`);
  const ofRules = rules.map(({ code }) => {
    const page = byCode.get(code);
    if (page === undefined) throw new Error(`no comment has "@finding ${code}": write one above the check of the rule`);
    return page;
  });
  return [...ofRules, ...pages.filter(({ code }) => !rules.some((rule) => rule.code === code))].map((page) => {
    const former = formerCodes.get(page.code);
    const sentence = former === undefined ? '' : ` It was called \`${former}\`, which \`terapipe-ignore\` and settings take too.`;
    return { ...page, doc: page.doc + sentence };
  });
}

/** `@finding CODE` and what it means, `@example`, `@source` and `@ignore`, in the comments of a text. */
export function pagesIn(text: string): readonly FindingPage[] {
  return (text.match(/\/\*\*[^]*?\*\//g) ?? []).flatMap((comment) => {
    const words = comment.replace(/\s*\*\/$/, '').replaceAll(/\s*\n\s*\* ?/g, ' ');
    const [, ...pages] = words.split(/(?:^|\s)@finding /);
    return pages.map(pageOf);
  });
}

const pageTags = ['example', 'source', 'ignore'];

/** @throws Error where the code, its meaning or its source is missing, or a tag is none of a page. */
function pageOf(text: string): FindingPage {
  const [, code = '', doc = '', rest = ''] = /^(\S+) (.*?)(?= @\w+ |$)(.*)$/.exec(text.trim()) ?? [];
  const tags = Object.fromEntries([...rest.matchAll(/@(\w+) (.*?)(?= @\w+ |$)/g)].map(([, tag = '', value = '']) => [tag, value.trim()]));
  const unknown = Object.keys(tags).find((tag) => !pageTags.includes(tag));
  if (unknown !== undefined) throw new Error(`the comment of the finding "${code}" has @${unknown}, which is not of a page`);
  const { source, ignore = neverStarts, example } = tags;
  if (doc === '' || source === undefined) throw new Error(`the comment of the finding "${code}" lacks what it means, or its @source`);
  const pinned = source.replaceAll(/(Megatron-LM|TorchTitan|DeepSpeed)(?=, `)/g, (name) => `${name} at ${commits[name] ?? ''}`);
  return { code, doc, source: pinned, ignore, ...(example === undefined ? {} : { example }) };
}
