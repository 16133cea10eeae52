import assert from 'node:assert/strict';
import { planHtml } from '../../../../../src/core/export/html/report';
import type { ReportFinding } from '../../../../../src/core/export/html/sections';
import type { LayerKind } from '../../../../../src/core/domain/model';
import { memoryParts } from '../../../../../src/core/memory-model/profile';
import { makePlan } from '../../../../../src/core/planner/make-plan';
import { chosenCandidate, type Plan } from '../../../../../src/core/planner/plan';
import { gpt, request } from '../../../../golden/requests';
import { sentence } from '../../../../../src/core/sentence';
import { toText } from '../../../sentence-text';

const plan = makePlan(
  request('A100-80GB', gpt(8, 1024, 16, 50304), {
    training: { globalBatch: 8, sequenceLength: 1024, attention: 'flash', dropout: false },
    layout: { tensor: 2, pipeline: 4 },
  }),
);

const hostile = '</title><script>alert(1)</script>"\'&\u0000\u202E\u2028<img src=x onerror=alert(1)>';

/** What a browser shows of a page: its text without style. */
function shownText(html: string): string {
  return html
    .replace(/<style>[\s\S]*?<\/style>/g, '')
    .replace(/<[^>]*>/g, ' ')
    .replace(/\s+/g, ' ');
}

const empty = new Set(['meta', 'br', 'rect', 'path']);

/** Every element is closed in order. */
function assertBalanced(html: string): void {
  const open: string[] = [];
  for (const [, closing, name = '', selfClosing] of html
    .replace(/<style>[\s\S]*?<\/style>/g, '')
    .matchAll(/<(\/?)([a-z][a-z0-9]*)[^<>]*?(\/?)>/g)) {
    if (closing === '/') assert.equal(open.pop(), name);
    else if (selfClosing !== '/' && !empty.has(name)) open.push(name);
  }
  assert.deepEqual(open, []);
}

describe('a plan as an HTML page', () => {
  const html = planHtml(plan, []);

  it('shows step, bubble and memory of the chosen schedule first, then every candidate, reason and assumption', () => {
    const shown = shownText(html);
    const chosen = chosenCandidate(plan);
    assert.match(shown, /Step \d[\d.,]* ms [\d.,]+ to [\d.,]+ ms Bubble [\d.]+ %/);
    for (const { name } of plan.candidates) assert.ok(shown.includes(toText(name)), toText(name));
    for (const reason of plan.reasons)
      assert.ok(html.includes(toText(reason).replaceAll("'", '&#39;').replaceAll('"', '&quot;')), toText(reason));
    assert.ok(shown.includes(chosen.memory.runtime));
    assert.equal(html.match(/<rect class="[fb]\d"/g)?.length === 0, false);
    assert.equal((html.match(/<td class="bar">/g) ?? []).length > 0, true);
  });

  it('shows for a model what its layers have: heads, states, a feed-forward network', () => {
    const state = {
      kind: 'mamba2',
      heads: 16,
      headDim: 64,
      stateDim: 128,
      groups: 1,
      convolution: 4,
      chunk: 256,
      convolutionBias: true,
      projectionBias: false,
      normParameters: 1024,
    } as const;
    const words = (layerKinds: readonly LayerKind[]): string => {
      const model = { ...plan.request.model, state, layerKinds };
      return shownText(planHtml({ ...plan, request: { ...plan.request, model } }, []));
    };
    const mamba: LayerKind = { feedForward: 'none', window: null, mixer: 'state' };
    assert.match(words(Array<LayerKind>(8).fill(mamba)), /hidden 1,024, 16 heads with a state of 128 × 64 in 8 layers, vocabulary/);
    const half: LayerKind[] = [0, 1, 2, 3, 4, 5, 6, 7].map((layer) => (layer % 2 === 0 ? mamba : { feedForward: 'dense', window: null }));
    assert.match(
      words(half),
      /16 heads \(16 of keys and values\), 16 heads with a state of 128 × 64 in 4 layers, feed-forward 4,096, vocab/,
    );
  });

  it('names the passes that its picture has, weight gradients apart where the schedule splits them', () => {
    const keyOf = (page: string): string => shownText(/<p class="key">.*?<\/p>/.exec(page)?.[0] ?? '').trim();
    assert.equal(keyOf(html), 'forward backward optimizer');
    const split = planHtml(makePlan({ ...plan.request, schedule: 'ZeroBubble' }), []);
    assert.equal(keyOf(split), 'forward backward of inputs backward of weights optimizer');
    assert.match(split, /<rect class="w\d"/);
    assert.match(split, /\.backward-weight\{background:/);
  });

  it('draws the whole step, and all parts of memory with a hue and a pattern each', () => {
    assert.match(html, /<g class="o"><title>optimizer<\/title>\s*<rect /);
    const { stages } = chosenCandidate(plan).memory;
    const parts = memoryParts.filter((part) => stages.some((stage) => stage.parts[part] > 0));
    assert.ok(parts.length > 5);
    const drawn = new Set([...html.matchAll(/<span class="part-(\w+)" style="width:[\d.]+%"/g)].map(([, part]) => part));
    assert.deepEqual([...drawn].sort(), [...parts].sort());
    const paints = memoryParts.map((part) => new RegExp(`\\.part-${part}\\{background:([^}]*)\\}`).exec(html)?.[1]);
    assert.ok(paints.every((paint) => paint !== undefined));
    assert.equal(new Set(paints.map((paint) => paint.replace(/var\(--(?!texture)[\w-]+\)/, ''))).size, memoryParts.length);
  });

  it('loads nothing, runs nothing and is well formed', () => {
    assertBalanced(html);
    assert.ok(!/<script|<link|<img|<iframe|<object|@import|url\(| on\w+=|javascript:/i.test(html));
    assert.deepEqual(html.match(/https?:[^"' ]+/g)?.filter((address) => address !== 'http://www.w3.org/2000/svg') ?? [], []);
    assert.match(html, /default-src 'none'/);
    assert.match(html, /prefers-color-scheme:dark/);
    assert.match(html, /@media print/);
  });

  it('escapes whatever files hold', () => {
    const finding: ReportFinding = { severity: 'error', code: hostile, where: hostile, message: hostile, remedy: hostile };
    const first = plan.candidates[0]!;
    const nasty: Plan = {
      ...plan,
      request: {
        ...plan.request,
        title: hostile,
        model: { ...plan.request.model, modelType: hostile },
        assumptions: [{ key: hostile, value: hostile, reason: sentence`${hostile}` }],
      },
      candidates: [
        { ...first, name: hostile, memory: { ...first.memory, runtime: hostile, marginBecause: sentence`${hostile}` } },
        ...plan.candidates.slice(1),
      ],
      reasons: [sentence`${hostile}`],
      cost: { ...plan.cost, description: sentence`${hostile}`, errorBecause: sentence`${hostile}` },
    };
    const page = planHtml(nasty, [finding]);
    assertBalanced(page);
    for (const part of ['<script', '<img', '\u0000', '\u202E', '\u2028']) assert.ok(!page.includes(part), JSON.stringify(part));
    assert.ok(page.includes('\\u{202e}'));
  });

  it('is the same page every time, and stays small for many stages', () => {
    assert.equal(planHtml(plan, []), html);
    const chosen = chosenCandidate(plan);
    const stage = chosen.memory.stages[0]!;
    const stages = Array.from({ length: 5000 }, (_, index) => ({ ...stage, stage: index, peakBytes: stage.peakBytes + index * 2 ** 24 }));
    const many = { ...plan, candidates: plan.candidates.map((candidate) => ({ ...candidate, memory: { ...candidate.memory, stages } })) };
    const page = planHtml(many, []);
    assert.ok(page.length < 300_000, String(page.length));
    assert.match(shownText(page), /[ -]4999 /);
  });
});
