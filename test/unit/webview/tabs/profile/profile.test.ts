import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { PartFit, TimeFit } from '../../../../../src/core/domain/profile';
import { parsePageMessage } from '../../../../../src/protocol/page-schema';
import { toPageState } from '../../../../../src/host/pages/page-state';
import { errorAxis, rateAxis, axisShare, timeAxis, tokensAxis } from '../../../../../webview/charts/axis';
import { errorContent, ratioContent, throughputContent, timeContent } from '../../../../../webview/tabs/profile/content';
import { nearestDot, stepDot } from '../../../../../webview/charts/pick';
import { findKnee, lengthsBetween, profilePoints, profileRatios, shownContexts } from '../../../../../webview/tabs/profile/points';
import { comparedProfile, pickedProfile, profileLog, profilePart, shownProfile } from '../../../../../webview/tabs/profile/shown';
import { hasBatches, sampleRows, samplesAsTsv } from '../../../../../webview/tabs/profile/rows';
import { kneeSentence, ratioSentence } from '../../../../../webview/tabs/profile/labels';
import { signedPercent } from '../../../../../webview/charts/ticks';
import { readViewState } from '../../../../../webview/base/view-state';
import { known, profileOf, profilesOf, simulatedSamples } from '../../../../webview/profiles';
import { sentence } from '../../../../../src/core/sentence';
import { sideParts } from '../../../../../src/host/pages/layout-page';

const noContext = { constant: 0, perRow: 0, perContext: 0, perRowContext: 0, perContextSquare: 0 };

/** constant + perToken n, ms. */
function straight(constant: number, perToken: number): TimeFit {
  return { rows: { tokens: [1, 4096], ms: [constant + perToken, constant + 4096 * perToken] }, square: 0, context: noContext };
}

function fitted(forward: TimeFit, backward: TimeFit = forward): PartFit {
  return { forward, backward };
}

describe('profile points', () => {
  it('carry the fitted time and how far off it is', () => {
    const sample = { batch: 2, tokens: 50, context: 0, forwardMs: 100, backwardMs: 250, rounds: 4, holdOut: true };
    const profile = profileOf(
      {},
      {
        samples: { layer: [sample], embedding: [], head: [] },
        fit: { layer: fitted(straight(10, 1), straight(0, 2)), embedding: null, head: null },
      },
    );
    const [forward, backward] = profilePoints(profile, 'layer');
    assert.deepEqual([forward?.rows, forward?.measuredMs, Math.round(forward?.fittedMs ?? 0)], [100, 100, 110]);
    assert.ok(Math.abs((forward?.errorPercent ?? 0) - 10) < 1e-9);
    assert.ok(Math.abs((backward?.errorPercent ?? 0) + 20) < 1e-9);
    const unfitted = profilePoints({ ...profile, fit: null }, 'layer');
    assert.deepEqual(
      unfitted.map(({ fittedMs, errorPercent }) => [fittedMs, errorPercent]),
      [
        [null, null],
        [null, null],
      ],
    );
  });

  it('show context 0 and a few measured ones spread over the rest', () => {
    const samples = simulatedSamples();
    const contexts = shownContexts(samples, 3);
    assert.equal(contexts[0], 0);
    assert.equal(contexts.length, 4);
    for (const context of contexts) assert.ok(samples.some((sample) => sample.context === context));
    assert.deepEqual(
      shownContexts(
        samples.filter(({ context }) => context === 0),
        3,
      ),
      [0],
    );
  });

  it('are joined by curves that pass every length of the table', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 500 }),
        fc.integer({ min: 0, max: 5000 }),
        fc.integer({ min: 1, max: 6000 }),
        (first, span, knot) => {
          const lengths = lengthsBetween(first, first + span, [knot]);
          assert.equal(lengths[0], first);
          assert.equal(lengths.at(-1), first + span);
          if (knot >= first && knot <= first + span) assert.ok(lengths.includes(knot));
          lengths.slice(1).forEach((length, index) => assert.ok(length > lengths[index]!));
        },
      ),
      { seed: 5 },
    );
    assert.deepEqual(lengthsBetween(10, 5, []), []);
  });
});

describe('throughput', () => {
  it('reaches nine tenths of its best where the formula does', () => {
    // n / (10 + n) is nine tenths of its value at 1000 from n = 81.8 on.
    const knee = findKnee(fitted(straight(10, 1)), 1, 1000)!;
    assert.equal(knee.bestTokens, 1000);
    assert.ok(Math.abs(knee.bestPerSecond - (1000 / 2020) * 1000) < 1e-9);
    assert.ok(knee.tokens >= 82 && knee.tokens <= 84, String(knee.tokens));
    assert.match(kneeSentence(knee), /^From 8\d tokens on, slices reach 90.% of the best throughput \(495 tokens\/s at 1,000 tokens\)\.$/);
  });

  it('has no knee where even the shortest slice is as good', () => {
    const knee = findKnee(fitted(straight(0, 1)), 32, 1000)!;
    assert.equal(knee.atSmallest, true);
    assert.match(kneeSentence(knee), /^Every measured length reaches 90.%/);
    assert.deepEqual(
      throughputContent(profileOf({}, { fit: { layer: fitted(straight(0, 1)), embedding: null, head: null } }), 'layer')?.guides,
      [],
    );
  });
});

describe('comparison of profiles', () => {
  it('gives the ratio at every length that both measured', () => {
    const [slow, fast] = [2, 1].map((perToken) =>
      profileOf({ longest: perToken === 1 ? 512 : 2048 }, { fit: { layer: fitted(straight(0, perToken)), embedding: null, head: null } }),
    );
    const ratios = profileRatios(fast!, slow!);
    assert.deepEqual(
      ratios.map(({ tokens }) => tokens),
      [32, 64, 128, 256, 512],
    );
    for (const { forward, backward } of ratios) assert.ok(Math.abs(forward - 2) < 1e-9 && Math.abs(backward - 2) < 1e-9);
    assert.equal(ratioSentence('A100', ratios), 'A100 takes 2x the time forward and 2x backward.');
    assert.equal(ratioContent(fast!, slow!)?.dots.length, 10);
  });

  it('is empty without a common length or a fit', () => {
    const one = profileOf();
    assert.deepEqual(profileRatios(one, { ...one, fit: null }), []);
    const long = profileOf(
      {},
      { samples: { layer: simulatedSamples().map((sample) => ({ ...sample, tokens: sample.tokens + 9999 })), embedding: [], head: [] } },
    );
    assert.deepEqual(profileRatios(one, long), []);
    assert.equal(ratioContent(one, long), null);
  });
});

describe('chart content', () => {
  const profile = profileOf();

  it('has every sample twice, hold-outs hollow, and curves within the axes', () => {
    const { dots, curves, x, y } = timeContent(profile, 'layer', 'log')!;
    assert.equal(dots.length, 2 * profile.samples.layer.length);
    assert.equal(dots.filter(({ hollow }) => hollow).length, 2 * profile.samples.layer.filter(({ holdOut }) => holdOut).length);
    assert.equal(new Set(dots.map(({ id }) => id)).size, dots.length);
    assert.equal(curves.length, 8);
    for (const [tokens, ms] of curves.flatMap(({ points }) => points)) {
      assert.ok(axisShare(x, tokens) >= 0 && axisShare(x, tokens) <= 1, `${tokens} tokens`);
      assert.ok(axisShare(y, ms) >= -0.02 && axisShare(y, ms) <= 1.02, `${ms} ms`);
    }
  });

  it('judges only by the hold-outs, or by all where there are none', () => {
    const held = profile.samples.layer.filter(({ holdOut }) => holdOut).length;
    assert.equal(errorContent(profile, 'layer')?.dots.length, 2 * held);
    const samples = { ...profile.samples, layer: profile.samples.layer.map((sample) => ({ ...sample, holdOut: false })) };
    assert.equal(errorContent({ ...profile, samples }, 'layer')?.dots.length, 2 * samples.layer.length);
    assert.equal(errorContent({ ...profile, fit: null }, 'layer'), null);
  });

  it('is null without samples', () => {
    for (const content of [timeContent(profile, 'head', 'linear'), throughputContent(profile, 'head'), errorContent(profile, 'head')])
      assert.equal(content, null);
  });
});

describe('chart axes', () => {
  it('mark powers of two, one unit of throughput, signed percent', () => {
    const texts = (axis: { marks: (most: number) => readonly { text: string }[] }, most: number): string[] =>
      axis.marks(most).map(({ text }) => text);
    assert.deepEqual(texts(tokensAxis('log', 32, 2048), 10), ['32', '64', '128', '256', '512', '1,024', '2,048']);
    assert.deepEqual(texts(tokensAxis('log', 32, 2048), 4), ['32', '128', '512', '2,048']);
    assert.deepEqual(texts(rateAxis(140_000), 4), ['0', '50K', '100K']);
    assert.deepEqual(texts(errorAxis(1), 4), ['−2 %', '0 %', '+2 %']);
    assert.deepEqual(texts(timeAxis('linear', 0.5, 40), 5), ['0', '10 ms', '20 ms', '30 ms', '40 ms']);
    assert.deepEqual(texts(timeAxis('log', 0.5, 40), 5), ['1 ms', '3 ms', '10 ms', '30 ms']);
  });

  it('leave room around a single length', () => {
    for (const axis of [tokensAxis('log', 512, 512), timeAxis('log', 3, 3.0001)]) {
      assert.ok(axis.max / axis.min > 1.09);
      assert.ok(axis.marks(6).length >= 1);
    }
  });

  it('keep every value between their ends and marks inside, whatever was measured', () => {
    const positive = fc.double({ min: 1e-4, max: 1e7, noNaN: true });
    fc.assert(
      fc.property(
        positive,
        positive,
        fc.constantFrom('linear' as const, 'log' as const),
        fc.integer({ min: 2, max: 12 }),
        (a, b, scale, most) => {
          const [least, greatest] = [Math.min(a, b), Math.max(a, b)];
          for (const axis of [tokensAxis(scale, least, greatest), timeAxis(scale, least, greatest)]) {
            for (const value of [least, greatest]) assert.ok(axisShare(axis, value) >= -1e-9 && axisShare(axis, value) <= 1 + 1e-9);
            const marks = axis.marks(most);
            assert.ok(marks.length <= most + 1, `${marks.length} of ${most}`);
            for (const { value } of marks) assert.ok(axisShare(axis, value) >= -1e-6 && axisShare(axis, value) <= 1 + 1e-6);
          }
        },
      ),
      { seed: 8 },
    );
  });
});

describe('picking points', () => {
  const { dots } = timeContent(profileOf(), 'layer', 'linear')!;

  it('takes the nearest within reach', () => {
    const drawn = dots.map((dot, index) => ({ dot, x: 10 * index, y: 0 }));
    assert.equal(nearestDot(drawn, 31, 2, 18), dots[3]);
    assert.equal(nearestDot(drawn, 31, 40, 18), null);
    assert.equal(nearestDot([], 0, 0, 18), null);
  });

  it('walks along one pass, over to the other, and to the ends', () => {
    const forward = dots.filter(({ tone }) => tone === 'forward');
    const second = stepDot(dots, forward[0]!, 'ArrowRight');
    assert.equal(second, forward[1]);
    assert.equal(stepDot(dots, second!, 'ArrowLeft'), forward[0]);
    assert.equal(stepDot(dots, second!, 'End'), forward.at(-1));
    assert.equal(stepDot(dots, forward.at(-1)!, 'ArrowRight'), forward.at(-1));
    assert.equal(stepDot(dots, second!, 'ArrowUp')?.id, second!.id.replace('forward', 'backward'));
    assert.equal(stepDot(dots, second!, 'Escape'), null);
    assert.equal(stepDot(dots, null, 'Escape'), undefined);
    assert.equal(stepDot(dots, second!, 'x'), undefined);
    assert.equal(stepDot([], null, 'ArrowRight'), undefined);
  });
});

describe('profile on screen', () => {
  const [one, two] = [known(profileOf(), 'one.json', sentence`of another GPU`), known(profileOf(), 'two.json')];
  const view = readViewState(null);
  const looked = (change: Partial<typeof view>): typeof view => ({ ...view, ...change });

  it('is the one picked, else the one used, else the newest that can serve', () => {
    const shown = (picked: string | null, used: string | null = two.file): string | undefined =>
      shownProfile(profilesOf([one, two], { used }), looked(pickedProfile.to(view, picked)))?.known?.file;
    assert.equal(shown(null), two.file);
    assert.equal(shown(one.file), one.file);
    assert.equal(shown('gone'), two.file);
    assert.equal(shown(null, null), two.file);
    assert.equal(shownProfile(profilesOf([one]), view)?.known, one);
    assert.equal(shownProfile(profilesOf([]), view), null);
    assert.equal(shownProfile(null, view), null);
  });

  it('is what is being measured while something is', () => {
    const running = { profile: profileOf({ most: 3 }), doing: '', fraction: 0 };
    const shown = shownProfile(profilesOf([one, two], { running }), looked(comparedProfile.to(view, two.file)));
    assert.deepEqual([shown?.profile, shown?.known, shown?.compared], [running.profile, null, null]);
  });

  it('is never compared with itself or with one that has no fit', () => {
    const state = profilesOf([one, two]);
    assert.equal(shownProfile(state, looked(comparedProfile.to(view, two.file)))?.compared, null);
    assert.equal(shownProfile(state, looked(comparedProfile.to(view, one.file)))?.compared, one);
    const unfitted = known(profileOf({}, { fit: null }), 'three.json');
    assert.equal(shownProfile(profilesOf([two, unfitted]), looked(comparedProfile.to(view, unfitted.file)))?.compared, null);
  });

  it('falls back to the layer when the part has no samples', () => {
    assert.equal(shownProfile(profilesOf([two]), looked(profilePart.to(view, 'head')))?.part, 'layer');
  });
});

describe('table of samples', () => {
  const profile = profileOf();

  it('is ordered by context and tokens, and each row knows its sample', () => {
    const rows = sampleRows(profile, 'layer');
    const keys = rows.map(({ sample }) => sample.context * 1e6 + sample.tokens * 10 + sample.batch);
    assert.deepEqual(
      keys,
      [...keys].sort((a, b) => a - b),
    );
    assert.equal(hasBatches(rows), true);
    for (const { sample, index, forward, backward } of rows) {
      assert.equal(sample, profile.samples.layer[index]);
      assert.deepEqual([forward.measuredMs, backward.measuredMs], [sample.forwardMs, sample.backwardMs]);
    }
  });

  it('comes out as text with all digits', () => {
    const [header, first] = samplesAsTsv(sampleRows(profile, 'layer')).split('\n');
    assert.equal(header!.split('\t').length, first!.split('\t').length);
    assert.equal(Number(first!.split('\t')[3]), profile.samples.layer[0]!.forwardMs);
  });

  it('rounds errors to what a clock can resolve', () => {
    assert.deepEqual([0.004, -0.0049, 1.234, -12.34].map(signedPercent), ['0 %', '0 %', '+1.23 %', '−12.3 %']);
  });
});

describe('profiles between host and page', () => {
  const profile = profilesOf([known(profileOf())]);

  it('go to the tab with its state and not to the side view', () => {
    const surroundings = { trusted: true, displayPath: (file: string) => file, parts: { profile } };
    const session = {
      file: 'file:///a/terapipe.json',
      run: null,
      plan: null,
      elastic: null,
      progress: null,
      staleEdits: 0,
      error: null,
      findings: [],
      texts: new Map<string, string>(),
    } as unknown as Parameters<typeof sideParts>[0];
    assert.equal(toPageState(session, { ...surroundings, page: 'tab' }).profile, profile);
    assert.equal(toPageState(session, { ...surroundings, page: 'side', parts: sideParts(session, null) }).profile, undefined);
    assert.equal(toPageState(null, { ...surroundings, page: 'tab' }).profile, undefined);
  });

  it('are asked for by commands that the host knows', () => {
    for (const command of ['terapipe.profile', 'terapipe.cancelProfile', 'terapipe.importProfile'])
      assert.deepEqual(parsePageMessage({ type: 'command', command }), { type: 'command', command });
    assert.equal(parsePageMessage({ type: 'command', command: 'terapipe.profileEverything' }), null);
  });

  it('leave how they are looked at in the saved view', () => {
    const all = (saved: unknown): readonly unknown[] => {
      const view = readViewState(saved);
      return [view.tab, pickedProfile.of(view), comparedProfile.of(view), profilePart.of(view), profileLog.of(view)];
    };
    const view = { ...readViewState(null), tab: 'profile' };
    const picked = { ...view, ...pickedProfile.to(view, 'a') };
    const compared = { ...picked, ...comparedProfile.to(picked, 'b') };
    const ofPart = { ...compared, ...profilePart.to(compared, 'head') };
    const looked = { ...ofPart, ...profileLog.to(ofPart, true) };
    assert.deepEqual(all(JSON.parse(JSON.stringify(looked))), ['profile', 'a', 'b', 'head', true]);
    assert.deepEqual(all({ profile: 3, profileCompare: {}, profilePart: 'tail', profileLog: 'yes' }), all(null));
  });
});
