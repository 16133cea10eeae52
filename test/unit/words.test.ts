import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import ts from 'typescript';
import { uiSentences, templateText } from './ui-sentences';
import { sourceTree } from './source-tree';

const root = resolve(import.meta.dirname, '../..');

/** Words that no reader should meet, and what docs/glossary.md says instead. */
const forbidden: readonly (readonly [word: RegExp, instead: string])[] = [
  [/\b(?<!GPU )cards?\b(?! reader)/i, 'GPU, GPU memory'],
  [/\bmodel flops? utili[sz]ation\b/i, 'MFU'],
  [/\bfurther (?:tokens?|time)\b/i, 'multi-token prediction'],
  [/\bhand(?:s|ed|ing)? (?:on )?a state\b/i, 'SSM, linear attention'],
  [/\bhand-?overs?\b|\bhands? (?:it )?over\b/i, 'launch settings, export'],
  [/\bexchanges inside\b|\bcontext exchange\b/i, 'collectives'],
  [/\bsends between\b/i, 'P2P transfers'],
  [/\bissuing operations\b|\bissue floor\b/i, 'kernel-launch overhead'],
  [/\bmatrix products?\b/i, 'GEMM'],
  [/\barithmetic\b/i, 'compute'],
  [/\bstuck\b/i, 'deadlock'],
  [/\bblank cells?\b/i, 'idle cells'],
  [/\bsurroundings\b|\bworkshop\b/i, 'context'],
  [/\bmend(?:s|ed|ing)?\b/i, 'fix'],
  [/\blooked at\b/i, 'evaluated'],
  [/\bways to cut\b/i, 'partitions'],
  [/\bcuts of others\b/i, 'baselines'],
  [/\bgive or take\b|% either way\b/i, '±20 %'],
  [/\b(?:has|have) no word for\b/i, 'does not support'],
  [/\bover as launched\b/i, 'faster than launched'],
  [/\ba tie\b|\bties? with\b/i, 'within error of'],
  [/\bput , between\b/i, 'add a comma'],
  [/\bfalls? free\b/i, 'become free'],
  [/± \d|± \{/, '± without a space'],
  [/\d GB of\b|\} GB\b(?!\/s)/, 'GiB'],
];

function wrongWords(text: string): string[] {
  return forbidden
    .filter(([word]) => word.test(text))
    .map(([word, instead]) => `${JSON.stringify(text)}: ${String(word)}, say "${instead}"`);
}

/** Phrases in the code: texts of more than one word, in quotes or templates. Keys, codes and names of settings are one word. */
function phrasesOf(source: string): string[] {
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node)) return;
    const text = ts.isStringLiteralLike(node) ? node.text : ts.isTemplateExpression(node) ? templateText(node) : '';
    if (/\S\s+\S/.test(text)) found.push(text);
    ts.forEachChild(node, visit);
  };
  visit(sourceTree('texts.ts', source));
  return found;
}

/** A sentence is at most this long, placeholders as `{0}`. */
const mostCharacters = 100;

/** Longer ones, by what they begin with, and why. */
const longSentences: readonly (readonly [start: string, reason: string])[] = [
  ['get {0} from NuGet', 'a path to copy from, whole'],
  ['python -m deepspeed.checkpoint.ds_to_universal', 'a command to copy, whole'],
  ['python examples/nlp/language_modeling/megatron_change_num_partitions.py', 'a command to copy, whole'],
  ['start the file once as it is with --ckpt-convert-format', 'flags to copy, whole'],
  ['{0}; or convert the weights only with python', 'a command to copy, whole'],
  ['"Automatic adjustment of ZeRO\'s optimizer state', 'what DeepSpeed prints'],
  ['optimizer state is stored in buckets of each tensor and pipeline rank: "(TP, PP) mismatch', 'what Megatron-LM prints'],
];

describe('words that people read', () => {
  for (const folder of [
    'src/core',
    'src/features',
    'src/cli',
    'src/extension',
    'src/profiler',
    'src/worker',
    'src/protocol',
    'src/files',
    'webview',
  ])
    it(`are the field's in ${folder}`, () => {
      const files = readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
      assert.ok(files.length > 0);
      const wrong = files.flatMap((name) => {
        const source = readFileSync(join(root, folder, name), 'utf8');
        // Most files have none of the words anywhere, and need not be parsed.
        if (!forbidden.some(([word]) => word.test(source))) return [];
        return phrasesOf(source).flatMap((text) => wrongWords(text).map((problem) => `${folder}/${name}: ${problem}`));
      });
      assert.deepEqual(wrong, []);
    });

  it("are the field's in package.nls.json", () => {
    const texts = Object.values(JSON.parse(readFileSync(join(root, 'package.nls.json'), 'utf8')) as Readonly<Record<string, string>>);
    assert.ok(texts.length > 50);
    assert.deepEqual(texts.flatMap(wrongWords), []);
  });

  it("are the field's in the configuration schema", () => {
    const schema = readFileSync(join(root, 'media/schemas/terapipe.schema.json'), 'utf8');
    const texts = [...schema.matchAll(/"(?:markdownD|d)escription": ("(?:[^"\\]|\\.)*")/g)].map(
      ([, text = '""']) => JSON.parse(text) as string,
    );
    assert.ok(texts.length > 50);
    assert.deepEqual(texts.flatMap(wrongWords), []);
  });

  it('make sentences of at most 100 characters, except a list with reasons', () => {
    const files = ['src', 'webview'].flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith('.ts'))
        .map((name) => join(folder, name)),
    );
    const long = files.flatMap((file) => {
      const source = readFileSync(join(root, file), 'utf8');
      if (!/sentence`|\bt\(/.test(source)) return [];
      return uiSentences(source)
        .filter((text) => text.length > mostCharacters && !longSentences.some(([start]) => text.startsWith(start)))
        .map((text) => `${file}: ${text}`);
    });
    assert.deepEqual(long, []);
  });

  it('are found where they are wrong', () => {
    const source = "const text = t('{0} looked at, none fits'); const more = `${a} is a tie with ${b} here`; import 'cards of';";
    assert.equal(phrasesOf(source).flatMap(wrongWords).length, 2);
  });
});
