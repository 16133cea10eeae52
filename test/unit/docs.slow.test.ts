import assert from 'node:assert/strict';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { describe, it } from 'mocha';
import { parse } from 'yaml';
import { gpuPresets } from '../../src/core/cluster/presets';
import { defaultConstants } from '../../src/core/domain/slice-cost';
import { scheduleKinds } from '../../src/core/schedules/registry';
import { type optimizers, stepBytes, stateBytes } from '../../src/core/domain/optimizer';
import { digitsPictures, readDigits, withDigits } from '../docs/digits';
import { generatedDocuments } from '../docs/generated';
import { generatedJson } from '../docs/generated-json';
import { unpadded } from '../docs/markdown';
import { bareTexts } from '../docs/sentence-values';
import { coreRooms, houses } from './rooms';

const root = resolve(import.meta.dirname, '../..');

/** Folders whose paths a document may name; what is built or downloaded lies elsewhere. */
const rooms = /^(?:src|test|webview|docs|media|\.ci|\.github|\.vscode)\/[\w./@-]+$/;

interface Document {
  readonly file: string;
  /** Without its fenced code. */
  readonly text: string;
  readonly headings: readonly string[];
}

const documents: readonly Document[] = [...filesUnder('docs', '.md'), 'README.md', 'CONTRIBUTING.md'].map((file) => {
  const text = read(file).replace(/^( *)```[\s\S]*?^\1```/gm, '');
  return { file, text, headings: [...text.matchAll(/^#+ +(.+)$/gm)].map(([, heading = '']) => heading.trim()) };
});

describe('documents', () => {
  for (const { file, text } of generatedDocuments)
    it(`${file} is what \`npm run docs -- --write\` writes`, () => {
      assert.deepEqual(unpadded(read(file)).split('\n'), unpadded(text()).split('\n'));
    });

  for (const { file, text } of generatedJson)
    it(`${file} is what \`npm run docs -- --write\` writes`, () => {
      assert.deepEqual(JSON.parse(read(file)), JSON.parse(text()));
    });

  it('draw and list the run on digits as it was measured', () => {
    const digits = readDigits();
    assert.equal(unpadded(read('docs/elastic.md')), unpadded(withDigits(read('docs/elastic.md'), digits)));
    for (const { name, text } of digitsPictures(digits)) assert.equal(read(`docs/elastic/${name}`), text, name);
  });

  it('have all English of sentences in their templates, none in what fills them', () => {
    assert.deepEqual(bareTexts(), []);
  });

  it('have a README of at most 900 words', () => {
    const words = read('README.md')
      .split(/\s+/)
      .filter((word) => word !== '').length;
    assert.ok(words <= 900, `${words} words: move some to docs/`);
  });

  it('have a CHANGELOG of at most 8 kB', () => {
    const bytes = Buffer.byteLength(read('CHANGELOG.md'));
    assert.ok(bytes <= 8_000, `${bytes} bytes: join entries on the same feature`);
  });

  it('are written in short sentences: on each page a median of less than 18 words', () => {
    const generated = [...generatedDocuments.map(({ file }) => file), 'docs/accuracy/README.md'];
    const pages = [...documents.map(({ file }) => file), 'CHANGELOG.md'].filter((file) => !generated.includes(file));
    assert.ok(pages.length > 15, `${pages.length} pages`);
    const long = pages.map((file) => ({ file, words: median(sentenceLengths(read(file))) })).filter(({ words }) => words >= 18);
    assert.deepEqual(long, []);
  });

  it('are measured by their sentences, without tables, code and formulas', () => {
    const page =
      '# A heading of words\n\nOne two three. Four `a b c` six $x + y$!\n\n- An item (of [two words](a.md)).\n\n| a | b c d |\n\n$$x$$\n\n    npm run x y\n';
    assert.deepEqual(sentenceLengths(page), [3, 4, 5]);
    assert.equal(median([3, 1, 2]), 2);
  });

  it('name no file or folder that is missing', () => {
    const named = documents.flatMap(({ file, text }) =>
      codeSpans(text).flatMap((span) => (rooms.test(span) ? [{ file, path: span }] : [])),
    );
    assert.ok(named.length > 150, `${named.length} paths: are they still written in backticks?`);
    const missing = named.filter(({ path }) => !existsSync(join(root, path)));
    assert.deepEqual(missing, []);
  });

  it('count the schedules there are, and give each its row', () => {
    assert.ok(
      read('README.md').includes(`, ${scheduleKinds.length} schedules,`),
      `README.md: write that there are ${scheduleKinds.length} schedules`,
    );
    const rows = read('docs/model/schedules.md');
    const missing = scheduleKinds.filter(({ name }) => !rows.includes(`\n| \`${name}\` `));
    assert.deepEqual(
      missing.map(({ name }) => name),
      [],
      'docs/model/schedules.md, Kinds: add a row',
    );
  });

  it('name nothing as in a file that the file does not have', () => {
    const named = documents.flatMap(({ file, text }) =>
      [...text.matchAll(/`([\w.]+)`(?:,? and `([\w.]+)`)? in `([\w./-]+\.ts)`/g)].flatMap(([, first = '', second, path = '']) =>
        [first, ...(second === undefined ? [] : [second])].map((name) => ({ file, name, path })),
      ),
    );
    assert.ok(named.length > 80, `${named.length} names in files`);
    const wrong = named.filter(({ name, path }) => {
      const own = read(path).replace(/^import[^;]*;$/gm, '');
      // a name that is declared elsewhere and only used here leads a reader astray
      const declared = (part: string): boolean =>
        new RegExp(
          `\\b(?:function\\*?|const|let|class|interface|type) +${part}\\b|^ *(?:readonly )?${part}\\??[:(]|[{,] *${part} *[,}:]`,
          'm',
        ).test(own);
      return !name.split('.').every(declared);
    });
    assert.deepEqual(wrong, []);
  });

  it('link to files and headings that exist', () => {
    const links = documents.flatMap(({ file, text }) =>
      [...text.matchAll(/\]\((?!https?:)([^()\s]+)\)/g)].map(([, target = '']) => ({ file, target })),
    );
    const broken = links.filter(({ file, target }) => {
      const [path = '', anchor] = target.split('#');
      const found =
        path === ''
          ? file
          : relative(root, resolve(root, dirname(file), path))
              .split(sep)
              .join('/');
      if (!existsSync(join(root, found))) return true;
      const headings = documents.find((document) => document.file === found)?.headings ?? [];
      return anchor !== undefined && !headings.map(anchorOf).includes(anchor);
    });
    assert.deepEqual(broken, []);
  });

  it('draw only imports that the tables of rooms.ts allow', () => {
    const drawings = [...read('docs/architecture.md').matchAll(/```mermaid\n([\s\S]*?)```/g)].map(([, drawing = '']) => drawing);
    let arrows = 0;
    for (const drawing of drawings) {
      const folders = new Map([...drawing.matchAll(/^ *(\w+)\["([\w/-]+)<br>/gm)].map(([, id = '', folder = '']) => [id, folder]));
      for (const [, from = '', targets = ''] of drawing.matchAll(/^ *(\w+) --> ([\w &]+)$/gm))
        for (const target of targets.split(' & ')) {
          const [here = '', there = ''] = [folders.get(from), folders.get(target)];
          assert.ok(existsSync(join(root, here)) && existsSync(join(root, there)), `${from} --> ${target}: ${here} --> ${there}`);
          assert.ok(mayImport(here, there), `${here} --> ${there}`);
          arrows += 1;
        }
    }
    assert.ok(arrows > 30, `${arrows} arrows`);
  });

  it('give the constants of the model as the code has them', () => {
    const rowWith = (file: string, name: string): string => {
      const row = read(file)
        .split('\n')
        .find((line) => line.startsWith('|') && line.includes(name));
      assert.ok(row, `${file} has no row of ${name}`);
      return row;
    };
    const { gemmHalfSize, issueFloorUs, memoryEfficiency } = defaultConstants;
    const { 'A100-80GB': a100, 'V100-16GB': v100 } = gpuPresets;
    const stepOf = (optimizer: (typeof optimizers)[number]) => stepBytes({ optimizer, precision: 'bf16' });
    for (const [name, value] of [
      ['| `gemmHalfSize`', gemmHalfSize],
      ['| `issueFloorUs`', issueFloorUs],
      ['| `memoryEfficiency`', memoryEfficiency],
      ['| `gemmEfficiency` ($\\eta$), V100', v100.gpu.gemmEfficiency],
      ['| `nicEfficiency`', a100.links.nicEfficiency],
      ['| Adam, mixed precision', stepOf('adam')],
      ['| Adam, bf16 moments', stepOf('adam-bf16')],
      ['| Adam, 8-bit moments', stepOf('adam-8bit')],
      ['| SGD with momentum', stepOf('sgd')],
    ] as const) {
      const row = rowWith('docs/model/time.md', name);
      assert.match(row, new RegExp(`\\| +${String(value).replace('.', '\\.')}\\b`), row);
    }
    const stateOf = (optimizer: (typeof optimizers)[number]) => stateBytes({ optimizer, precision: 'bf16' });
    const states = `Adam ${stateOf('adam')}, with bf16 moments ${stateOf('adam-bf16')}, with 8-bit moments ${stateOf('adam-8bit')}, SGD ${stateOf('sgd')}`;
    assert.ok(read('docs/model/memory.md').includes(states), states);
  });

  it('has a workflow that runs the commands of README', () => {
    const { scripts } = JSON.parse(read('package.json')) as { readonly scripts: Readonly<Record<string, string>> };
    const { jobs } = parse(read('.github/workflows/check.yml')) as {
      readonly jobs: Readonly<Record<string, { readonly steps: readonly { readonly run?: string }[] }>>;
    };
    const run = Object.values(jobs).flatMap(({ steps }) =>
      steps.flatMap((step) => [...(step.run ?? '').matchAll(/\bnpm (?:run )?([\w:]+)/g)].map(([, name = '']) => name)),
    );
    assert.deepEqual(run, ['test', 'demo']);
    const written = [...read('README.md').matchAll(/^ {4}npm (?:run )?(\w+) /gm)].map(([, name = '']) => name);
    assert.deepEqual(written, ['demo', 'test']);
    for (const name of [...run, ...written]) assert.ok(name in scripts, name);
  });

  it('ask for issues in forms that GitHub reads', () => {
    const forms = readdirSync(join(root, '.github/ISSUE_TEMPLATE'));
    assert.equal(forms.length, 3);
    for (const form of forms) {
      const { name, description, body } = parse(read(`.github/ISSUE_TEMPLATE/${form}`)) as Readonly<Record<string, unknown>>;
      assert.ok(typeof name === 'string' && typeof description === 'string' && Array.isArray(body) && body.length > 0, form);
    }
  });

  it('are cited in code by headings that exist', () => {
    const cited = ['src', 'webview', 'test'].flatMap((folder) =>
      filesUnder(folder, '.ts').flatMap((file) => {
        if (file === 'test/unit/docs.slow.test.ts') return [];
        // A comment may go on in the next line.
        const text = read(file).replace(/\s*\n\s*(?:\*(?!\/)|\/\/)\s*/g, ' ');
        return [...text.matchAll(/\b(docs\/[\w/-]+\.md)(?:, (.{1,80}))?/g)].map(([, path = '', heading]) => ({ file, path, heading }));
      }),
    );
    const wrong = cited.filter(({ path, heading }) => {
      const document = documents.find((one) => one.file === path);
      if (document === undefined) return true;
      return heading !== undefined && /^[A-Z]/.test(heading) && !document.headings.some((known) => heading.startsWith(known));
    });
    assert.deepEqual(wrong, []);
  });
});

function read(file: string): string {
  return readFileSync(join(root, file), 'utf8');
}

function filesUnder(folder: string, extension: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(extension))
    .map((name) => join(folder, name).split(sep).join('/'));
}

/** Whether a folder may import another at run time: one of src/core, or a house. */
function mayImport(from: string, to: string): boolean {
  const [, room = ''] = /^src\/core\/([\w-]+)$/.exec(from) ?? [];
  if (room !== '') return coreRooms[room]?.imports.includes(to.slice('src/core/'.length)) === true;
  return houses[`${from}/`]?.files.some((file) => file.startsWith(`${to}/`)) === true;
}

function codeSpans(text: string): string[] {
  return [...text.matchAll(/`([^`\n]+)`/g)].map(([, span = '']) => span);
}

/** As GitHub makes them: lower case, spaces to hyphens, without punctuation. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\w\- ]/g, '')
    .replaceAll(' ', '-');
}

/**
 * Words of each sentence of a page in Markdown, items of lists included; headings, tables, code blocks and formulas on lines of their own
 * are left out. A code span, a formula in the text and a link count as what they are called: one word, or the words of the link. What has
 * fewer than three words is a label.
 */
function sentenceLengths(page: string): number[] {
  const text = page
    .replace(/^( *)```[\s\S]*?^\1```/gm, '')
    .replace(/<!--[\s\S]*?-->/g, '')
    .replace(/^\$\$.*$/gm, '');
  return paragraphsOf(text).flatMap((paragraph) =>
    paragraph
      .replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
      .replace(/\$[^$]*\$/g, 'x')
      .replace(/`[^`]*`/g, 'code')
      .split(/(?<=[.!?])[*")]*\s+(?=["*(A-Z0-9]|x\b|code)/)
      .map((sentence) => sentence.split(/\s+/).filter((word) => /[\p{L}\d]/u.test(word)).length)
      .filter((words) => words >= 3),
  );
}

/** The middle one of some numbers; of two the greater. */
function median(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0;
}

/** Runs of lines that belong together; each item of a list is one. */
function paragraphsOf(text: string): string[] {
  const paragraphs: string[][] = [];
  let open: string[] | null = null;
  for (const line of text.split('\n')) {
    const isProse = /\S/.test(line) && !/^\s*(?:#|\||<)/.test(line) && !(open === null && line.startsWith('    '));
    const [marker = ''] = /^\s*(?:[-*]|\d+\.) /.exec(line) ?? [];
    if (!isProse) open = null;
    else if (open === null || marker !== '') paragraphs.push((open = [line.slice(marker.length)]));
    else open.push(line.trim());
  }
  return paragraphs.map((lines) => lines.join(' '));
}
