import { runCommand } from '../../src/cli/run-command';

/** Documents that show what commands print: below a comment with the command line, in fenced code. */
export const documentsOfOutput = ['docs/cli.md', 'docs/json.md'];

const shown = /(<!-- terapipe (.+?) -->\n+```\w+\n)([\s\S]*?)```/g;

/** What a document shows of a command. */
export interface ShownOutput {
  readonly args: readonly string[];
  readonly output: string;
}

export function shownIn(text: string): ShownOutput[] {
  return [...text.matchAll(shown)].map(([, , line = '', output = '']) => ({ args: line.split(' '), output }));
}

/** The document with what its commands print today; of JSON the first entry of every list, and the beginning of long texts. */
export async function withOutputs(text: string): Promise<string> {
  const outputs = new Map<string, string>();
  for (const { args } of shownIn(text)) {
    const printed = await printedBy(args);
    outputs.set(args.join(' '), args.includes('--json') ? `${JSON.stringify(shortened(JSON.parse(printed)), null, 2)}\n` : printed);
  }
  return text.replace(shown, (_, head: string, line: string) => `${head}${outputs.get(line) ?? ''}\`\`\``);
}

/** Standard output of a command line, in the repository's root. */
export async function printedBy(args: readonly string[]): Promise<string> {
  let out = '';
  await runCommand(args, {
    out: (text) => (out += text),
    err: () => undefined,
    clock: () => 0,
    now: () => '2026-01-01T00:00:00Z',
    progress: () => undefined,
    status: () => undefined,
    signal: new AbortController().signal,
    profilerFile: '',
    torchFolder: '',
    shell: () => Promise.reject(new Error('no shell scripts in these examples')),
    debug: false,
  });
  return out;
}

const longText = 100;

function shortened(value: unknown): unknown {
  if (typeof value === 'string') return value.length > longText ? `${value.slice(0, longText)}…` : value;
  if (Array.isArray(value)) return value.slice(0, 1).map(shortened);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, shortened(member)]));
}

/** Keys and types of a value, of lists those of the first entry. */
export function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.slice(0, 1).map(shapeOf);
  if (typeof value !== 'object') return typeof value;
  return value === null ? 'null' : Object.fromEntries(Object.entries(value).map(([key, member]) => [key, shapeOf(member)]));
}
