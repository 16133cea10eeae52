import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { countsByCode, fewInformations, type Finding } from '../../../../src/core/findings';
import { notSuppressed } from '../../../../src/core/rules/switched-off';
import { findingPages, pagesIn } from '../../../docs/finding-pages';
import { sentence } from '../../../../src/core/sentence';

const found = (code: string, file = 'run.sh', severity: Finding['severity'] = 'information'): Finding => ({
  code, severity, place: { file, range: { start: 0, end: 1 } }, message: sentence`${code}`, remedy: sentence`none`, fixes: [],
}); // prettier-ignore
const codes = (findings: readonly Finding[]): string[] => findings.map(({ code }) => code);

describe('findings that are switched off', () => {
  it('are named by comments of each syntax and by a key of strict JSON', () => {
    const all = ['a-b', 'c', 'sp-no-effect', 'unknown-key', 'vocab-padding', 'zero-with-pp'];
    const named = (text: string): string[] => {
      const kept = codes(
        notSuppressed(
          all.map((code) => found(code)),
          'run.sh',
          new Map([['run.sh', text]]),
        ),
      );
      return all.filter((code) => !kept.includes(code));
    };
    assert.deepEqual(named('set -e\n#terapipe-ignore: sp-no-effect , vocab-padding # both\n'), ['sp-no-effect', 'vocab-padding']);
    assert.deepEqual(named('{ // terapipe-ignore: unknown-key\n}'), ['unknown-key']);
    assert.deepEqual(named('{"terapipe-ignore": "zero-with-pp", "zero_optimization": {}}'), ['zero-with-pp']);
    assert.deepEqual(named('{"terapipe-ignore": ["a-b",\n "c"]}'), ['a-b', 'c']);
    assert.deepEqual(named('# terapipe-ignore:\n# terapipe: sp-no-effect\necho terapipe-ignore: x'), []);
  });

  it('are not reported, in the file that lists them and in what it opens', () => {
    const all = [found('a'), found('b'), found('a', 'config.json'), found('c', 'config.json')];
    const texts = (own: string, other: string) => new Map([['run.sh', own], ['config.json', other]]); // prettier-ignore
    assert.equal(notSuppressed(all, 'run.sh', texts('', '')), all);
    assert.deepEqual(codes(notSuppressed(all, 'run.sh', texts('# terapipe-ignore: a', ''))), ['b', 'c']);
    assert.deepEqual(codes(notSuppressed(all, 'run.sh', texts('', '{"terapipe-ignore": ["a"]}'))), ['a', 'b', 'c']);
    assert.deepEqual(codes(notSuppressed(all, 'run.sh', texts('', ''), new Set(['c', 'b']))), ['a', 'a']);
  });
});

describe('a few informations', () => {
  it('are one of each code before a second one, in their order, with all errors and warnings', () => {
    const all = [found('e', 'f', 'error'), ...['a', 'a', 'a', 'a', 'a', 'b', 'c'].map((code) => found(code)), found('w', 'f', 'warning')];
    const { shown, left } = fewInformations(all, (finding) => finding);
    assert.deepEqual(codes(shown), ['e', 'a', 'a', 'a', 'b', 'c', 'w']);
    assert.equal(countsByCode(codes(left)), 'a (2)');
    assert.equal(countsByCode(['x', 'y', 'x']), 'x (2), y');
    assert.deepEqual(fewInformations(all.slice(3), (finding) => finding).left, []);
  });
});

describe('the pages of findings', () => {
  it('have a source, and when to ignore them', () => {
    for (const { code, doc, source, ignore } of findingPages()) {
      assert.match(doc, /^\S.*\.$/, code);
      assert.ok(source.length > 10, code);
      assert.match(ignore, /\.$/, code);
    }
  });

  it('are read from comments', () => {
    const comment = [
      '/**',
      ' * What the code does.',
      ' *',
      ' * @finding a-code',
      ' * What it means, in',
      ' * two lines (`$@`).',
      ' * @source Megatron-LM, `a.py`, line 1; Megatron-LM at 1234, `b.py`',
      ' * @ignore it is',
      ' * meant.',
      ' */',
    ];
    assert.deepEqual(pagesIn(`const a = 1;\n${comment.join('\n')}\nfunction b() {}\n/** Another. */`), [
      {
        code: 'a-code',
        doc: 'What it means, in two lines (`$@`).',
        source: 'Megatron-LM at d98e8a64, `a.py`, line 1; Megatron-LM at 1234, `b.py`',
        ignore: 'it is meant.',
      },
    ]);
    assert.throws(() => pagesIn('/** @finding a-code What it means. */'), /a-code/);
    assert.throws(() => pagesIn('/** @finding a-code What it means. @source A page. @ignroe it is meant. */'), /@ignroe/);
  });
});
