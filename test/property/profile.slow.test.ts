import assert from 'node:assert/strict';
import fc from 'fast-check';
import { ExpectedError } from '../../src/core/errors';
import { importTimes } from '../../src/core/measured-profile/csv';
import { firstCells, nextCells } from '../../src/core/measured-profile/design';
import type { Domain } from '../../src/core/measured-profile/uncertainty';
import { parseProfile, profileText } from '../../src/core/measured-profile/file';
import { fitPart, timeFunction } from '../../src/core/measured-profile/fit';
import { fitMs } from '../unit/core/measured-profile/fitted-time';
import type { Cell, Profile, Sample, SkippedCell, TimeFit } from '../../src/core/domain/profile';
import { profileWith } from '../unit/core/measured-profile/profiles';
import { cases } from './cases';

const seed = 20261121;

const domains = fc
  .record({
    unit: fc.constantFrom(1, 8, 64, 100),
    units: fc.integer({ min: 1, max: 70 }),
    rest: fc.nat({ max: 7 }),
    longer: fc.nat({ max: 40 }),
    batches: fc.subarray([2, 4, 8]),
  })
  .map(({ unit, units, rest, longer, batches }): Domain => {
    const tokens = unit * units + (rest % unit);
    return { tokens, sequence: tokens + unit * longer, unit, batches: [1, ...batches] };
  });

const coefficient = (most: number) => fc.double({ min: 0, max: most, noNaN: true });
/** Members of the model family with points at the table of the first cells; coefficients are not negative, as times are not. */
const family = fc.record({
  base: fc.double({ min: 0.01, max: 5, noNaN: true }),
  steps: fc.array(fc.double({ min: 0, max: 3, noNaN: true }), { minLength: 24, maxLength: 24 }),
  squareShare: coefficient(0.95),
  context: fc.record({
    constant: coefficient(0.5),
    perRow: coefficient(1e-2),
    perContext: coefficient(1e-2),
    perRowContext: coefficient(1e-4),
    perContextSquare: fc.constantFrom(0, 1e-5),
  }),
});

function key({ batch, tokens, context }: Cell): string {
  return `${batch},${tokens},${context}`;
}

function inDomain({ tokens, sequence, batches }: Domain, cell: Cell): boolean {
  const whole = [cell.batch, cell.tokens, cell.context].every((value) => Number.isInteger(value));
  return (
    whole &&
    cell.tokens >= 1 &&
    cell.tokens <= tokens &&
    cell.context >= 0 &&
    cell.tokens + cell.context <= sequence &&
    batches.includes(cell.batch)
  );
}

describe('fit of slice times', () => {
  it('reproduces every function of its family from the cells of an experiment', () => {
    const domain: Domain = { tokens: 1024, sequence: 2048, unit: 32, batches: [1, 2] };
    fc.assert(
      fc.property(family, fc.integer(), ({ base, steps, squareShare, context }, draw) => {
        const { fit: cells, holdOut } = firstCells(domain, draw);
        const lengths = [...new Set(cells.filter((cell) => cell.context === 0).map(({ batch, tokens }) => batch * tokens))].sort(
          (a, b) => a - b,
        );
        let ms = base;
        // Up to 19 times the rows: more the fit takes for noise.
        const square = (squareShare * 19 * base) / 1024 ** 2;
        const truth: TimeFit = { rows: { tokens: lengths, ms: lengths.map((_, i) => (ms += steps[i]!)) }, square, context };
        const contexts = lengths.slice(1, 8).flatMap((tokens, i) => [
          { batch: 1, tokens, context: 128 + 64 * i },
          { batch: 1, tokens, context: 1024 - 32 * i },
        ]);
        const samples = [...cells, ...contexts].map((cell): Sample => ({
          ...cell,
          forwardMs: fitMs(truth, cell),
          backwardMs: 2 * fitMs(truth, cell),
          rounds: 4,
          holdOut: false,
        }));
        const part = fitPart(samples)!;
        for (const cell of [...holdOut, ...cells, ...contexts])
          for (const [fitted, factor] of [[part.forward, 1] as const, [part.backward, 2] as const])
            assert.ok(Math.abs(fitMs(fitted, cell) / (factor * fitMs(truth, cell)) - 1) < 1e-6, key(cell));
      }),
      { seed, numRuns: cases(50, 600) },
    );
  });

  it('is never negative in the measured domain, whatever the times', () => {
    const domain: Domain = { tokens: 512, sequence: 512, unit: 32, batches: [1, 2, 4] };
    const { fit: cells } = firstCells(domain, 1);
    const times = fc.array(fc.double({ min: 1e-3, max: 1e3, noNaN: true }), { minLength: cells.length, maxLength: cells.length });
    fc.assert(
      fc.property(times, (ms) => {
        const part = fitPart(
          cells.map((cell, i): Sample => ({
            ...cell,
            forwardMs: ms[i]!,
            backwardMs: ms[cells.length - 1 - i]!,
            rounds: 1,
            holdOut: false,
          })),
        )!;
        for (const fitted of [part.forward, part.backward]) {
          const time = timeFunction(fitted);
          for (const batch of domain.batches)
            for (let tokens = 1; tokens <= 512; tokens += 37)
              for (let context = 0; tokens + context <= 512; context += 101)
                assert.ok(time(batch, tokens, context) > 0, key({ batch, tokens, context }));
        }
      }),
      { seed, numRuns: cases(100, 1200) },
    );
  });
});

describe('design of the experiment', () => {
  it('starts with distinct cells inside the domain', () => {
    fc.assert(
      fc.property(domains, fc.integer(), (domain, draw) => {
        const { fit, holdOut } = firstCells(domain, draw);
        const all = [...fit, ...holdOut];
        for (const cell of all) assert.ok(inDomain(domain, cell), key(cell));
        assert.equal(new Set(all.map(key)).size, all.length);
        for (const tokens of [domain.unit, domain.tokens])
          assert.ok(
            fit.some((cell) => key(cell) === `1,${tokens},0`),
            String(tokens),
          );
      }),
      { seed, numRuns: cases(130, 1600) },
    );
  });

  it('never asks for a cell twice nor outside the domain, until nothing is left', () => {
    fc.assert(
      fc.property(domains, fc.integer({ min: 1, max: 9 }), fc.integer(), (domain, count, draw) => {
        const { fit, holdOut } = firstCells(domain, draw);
        const seen = new Set<string>();
        const samples: Sample[] = [];
        const skipped: SkippedCell[] = [];
        const take = (cells: readonly Cell[], kept: boolean): void => {
          for (const cell of cells) {
            assert.ok(inDomain(domain, cell) && !seen.has(key(cell)), key(cell));
            seen.add(key(cell));
            const ms = 0.1 * Math.ceil((cell.batch * cell.tokens) / 128) + 1e-5 * cell.tokens * cell.context + ((seen.size * 7) % 5) / 50;
            if (seen.size % 11 === 10) skipped.push({ ...cell, part: 'layer', reason: 'failed', detail: '' });
            else samples.push({ ...cell, forwardMs: ms, backwardMs: 2 * ms, rounds: 4, holdOut: kept });
          }
        };
        take(fit, false);
        take(holdOut, true);
        for (let round = 0; round < 8; round++) {
          const cells = nextCells(domain, samples, skipped, count);
          assert.ok(cells.length <= count);
          take(cells, false);
        }
      }),
      { seed, numRuns: cases(8, 100) },
    );
  });
});

const ms = fc.double({ min: 1e-6, max: 1e6, noNaN: true }).map((value) => Number(value.toPrecision(6)));
const samples = fc.array(
  fc.record({
    batch: fc.integer({ min: 1, max: 64 }),
    tokens: fc.integer({ min: 1, max: 1e6 }),
    context: fc.nat({ max: 1e6 }),
    forwardMs: ms,
    backwardMs: ms,
    rounds: fc.nat({ max: 20 }),
    holdOut: fc.boolean(),
  }),
  { maxLength: 6 },
);
const anyText = fc.string({ unit: 'binary', maxLength: 30 });

describe('profile file', () => {
  it('gives back what was written', () => {
    const changes = fc.record<Partial<Profile>>({
      samples: fc.record({ layer: samples, embedding: samples, head: samples }),
      title: anyText,
      error: fc.option(anyText),
      warnings: fc.array(anyText, { maxLength: 3 }),
      versions: fc.dictionary(fc.stringMatching(/^[a-z]{1,8}$/), anyText, { maxKeys: 4 }),
      device: fc.record({
        kind: fc.constantFrom('gpu', 'cpu', 'software'),
        name: anyText,
        memoryBytes: fc.option(fc.nat()),
        driver: fc.option(anyText),
      }),
      provider: fc.option(fc.constantFrom('cuda', 'webgpu')),
      precision: fc.constantFrom('fp32', 'fp16', 'bf16'),
      tf32: fc.option(fc.boolean()),
      launches: fc.option(fc.record({ perNodeUs: ms, perProductUs: ms, forwardMs: ms, backwardMs: ms })),
      seconds: ms,
      twoLayerRatio: fc.option(ms),
    });
    const plain = parseProfile(profileText(profileWith()), 'p.json');
    fc.assert(
      fc.property(changes, (changed) => {
        // Through JSON, because fast-check's dictionaries have no prototype.
        const profile = JSON.parse(JSON.stringify({ ...plain, ...changed })) as Profile;
        assert.deepEqual(parseProfile(profileText(profile), 'p.json'), profile);
      }),
      { seed, numRuns: cases(60, 800) },
    );
  });
});

const fragments = ['{', '}', '[', ']', ',', ':', '"', '\\', '//', '0', '-1', '1e999', 'null', '\0', '\uFEFF', '\uD800', '"__proto__": 1,', ';', '\n', '#', '\t', '""', 'x'.repeat(300)]; // prettier-ignore

/** A text with pieces cut out, put in or doubled. */
function mangled(text: string): fc.Arbitrary<string> {
  const edit = fc.record({ at: fc.nat(text.length), remove: fc.nat(12), insert: fc.constantFrom('', ...fragments) });
  return fc
    .array(edit, { minLength: 1, maxLength: 4 })
    .map((edits) => edits.reduce((result, { at, remove, insert }) => result.slice(0, at) + insert + result.slice(at + remove), text));
}

/** Reads `text`, or fails with an error that a person can act on, at a place in the text. */
function answersCalmly(text: string, read: () => unknown): void {
  try {
    read();
  } catch (error) {
    assert.ok(error instanceof ExpectedError, String(error));
    const { start, end } = error.place?.range ?? assert.fail(error.code);
    assert.ok(start >= 0 && start <= end && end <= text.length, `${error.code} ${start} ${end} ${text.length}`);
    assert.ok(!/\p{Cc}/u.test(error.message), error.message);
  }
}

describe('hostile input', () => {
  it('is a profile or an error at a place inside it', () => {
    const text = profileText({
      ...profileWith(),
      samples: { layer: profileWith().samples.layer.slice(0, 2), embedding: [], head: [] },
      fit: null,
    });
    fc.assert(
      fc.property(mangled(text), (broken) => answersCalmly(broken, () => parseProfile(broken, 'p.json'))),
      { seed, numRuns: cases(400, 6000) },
    );
  });

  it('is a table of times or an error at a place inside it', () => {
    const text = '# torch\ntokens,context,forward_ms,"backward_ms"\n64,0,1,2\n128,0,2,4\n256,0,4,8\n64,128,1.2,2.5\n"128",256,2.5,5\n';
    const description = profileWith();
    fc.assert(
      fc.property(mangled(text), (broken) => answersCalmly(broken, () => importTimes(broken, 't.csv', description))),
      { seed, numRuns: cases(400, 6000) },
    );
  });
});
