import assert from 'node:assert/strict';
import fc from 'fast-check';
import { isSplitsSource, patchedSplits } from '../../../../../src/core/export/slices/patch';
import { hasSlices, readSlices, slicesText } from '../../../../../src/core/export/slices/slices-file';
import { schemeUnits } from '../../../../../src/core/schedules/schedule';
import { cases } from '../../../../property/cases';

/** Sources with the traits of the versions that are known: where the arguments come from, what the rule is called, how lines end. */
const sources: Readonly<Record<string, string>> = {
  'sp_utils.py':
    'partitions = None\ndef get_splits():\n    global partitions\n    args = get_args()\n    if args.pipe_sp_strategy == "average":\n        return [1]\n    if args.pipe_sp_splits == 1:\n        return [args.seq_length]\n',
  'sequence_split.py':
    'def get_splits(args):\n    global partitions\n    if args.seq1f1b_balance_method == "average":\n        return [1] * args.seq1f1b_splits\n',
  'class.py':
    'class FlopsSplitSolver:\n    def get_splits(self):\n        args = self.args\n        if args.seq1f1b_balance_method == "average":\n            return [args.seq1f1b_splits]\n',
  'chunked.py':
    'class Iterator:\n    def _get_span(self, seq_length: int) -> List[int]:\n        spans = [seq_length // self.chunked_pp_splits] * self.chunked_pp_splits\n        return spans\n',
  'crlf.py':
    'def get_splits():\r\n    args = get_args()\r\n    if args.pipe_sp_strategy == "average":\r\n        return [args.pipe_sp_splits]\r\n',
};

describe('a list of slice lengths in the source of a runtime', () => {
  it('is returned for runs of this many slices and tokens, before anything else decides', () => {
    assert.equal(
      patchedSplits('sp_utils.py', sources['sp_utils.py'] ?? '', [1536, 1280, 1280]),
      'partitions = None\ndef get_splits():\n    global partitions\n    args = get_args()\n' +
        '    # Token slices of a TeraPipe plan: 3\n' +
        '    if args.pipe_sp_splits == 3 and args.pipe_sp_strategy == "uniform_comp" and args.seq_length == 4096:\n' +
        '        return [1536, 1280, 1280]\n' +
        '    if args.pipe_sp_strategy == "average":\n        return [1]\n    if args.pipe_sp_splits == 1:\n        return [args.seq_length]\n',
    );
    assert.match(
      patchedSplits('chunked.py', sources['chunked.py'] ?? '', [600, 424]),
      /-> List\[int\]:\n {8}# Token.*\n {8}if self\.chunked_pp_splits == 2 and seq_length == 1024:\n {12}return \[600, 424\]\n {8}spans =/,
    );
    assert.match(
      patchedSplits('class.py', sources['class.py'] ?? '', [8, 8]),
      /args = self\.args\n {8}# Token[^\n]*\n {8}if args\.seq1f1b_splits == 2 and/,
    );
  });

  it('adds three lines of the endings that the file has, and replaces those of an earlier patch', () => {
    const lengths = fc.array(fc.integer({ min: 1, max: 9999 }), { minLength: 2, maxLength: 20 });
    fc.assert(
      fc.property(fc.constantFrom(...Object.entries(sources)), lengths, lengths, ([name, text], first, second) => {
        assert.ok(isSplitsSource(text));
        const once = patchedSplits(name, text, first);
        assert.equal(once.split('\n').length, text.split('\n').length + 3);
        assert.equal(patchedSplits(name, once, second), patchedSplits(name, text, second));
        assert.equal(once.includes('\r'), text.includes('\r'));
        assert.equal(once.replace(/ *# Token slices.*(\r?\n).*\1.*\1/, ''), text);
      }),
      { numRuns: cases(100, 2000), seed: 3 },
    );
  });

  it('is refused where no such function is known', () => {
    for (const text of [
      '',
      'def get_splits():\n    return [1]\n',
      'def get_splits(args):\n    pass # args.pipe_sp_splits args.pipe_sp_strategy\n',
    ]) {
      assert.throws(() => patchedSplits('other.py', text, [1, 1]), { code: 'slices-no-function' });
    }
    assert.ok(!isSplitsSource('torchrun pretrain_gpt.py --pipe-sp-splits 4\n'));
  });
});

const place = { file: 'a.csv.slices.json', range: { start: 0, end: 0 } };

describe("the file next to a sliced schedule's CSV", () => {
  it('has the slices of each micro-batch, and is read back the same', () => {
    const chunk = fc.record({
      batch: fc.integer({ min: 1, max: 4 }),
      tokens: fc.array(fc.integer({ min: 1, max: 4096 }), { minLength: 1, maxLength: 6 }),
    });
    fc.assert(
      fc.property(fc.array(chunk, { minLength: 1, maxLength: 6 }), fc.string(), (scheme, name) => {
        const units = schemeUnits(scheme);
        assert.deepEqual(readSlices(slicesText(name, units), place), units);
        assert.equal(
          hasSlices(units),
          scheme.some(({ tokens }) => tokens.length > 1),
        );
      }),
      { numRuns: cases(100, 2000), seed: 4 },
    );
  });

  it('is refused where it has nothing on the kind', () => {
    const [unit] = schemeUnits([{ batch: 1, tokens: [8] }]);
    for (const text of [
      '',
      '{}',
      '[]',
      JSON.stringify({ kind: 'terapipe-slices', version: 1, schedule: 'a', units: [{ ...unit, unit: 1 }] }),
    ])
      assert.throws(() => readSlices(text, place), { code: 'slices-file-invalid' });
  });
});
