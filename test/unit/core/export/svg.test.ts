import assert from 'node:assert/strict';
import { timelineSvg } from '../../../../src/core/export/svg';
import { stepTail } from '../../../../src/core/planner/explain/tail';
import { timelineOf } from '../../webview/timelines';

type SvgOptions = Parameters<typeof timelineSvg>[1];

const options: SvgOptions = {
  title: 'gpt3-175b',
  widthPx: 800,
  colors: {
    background: '#fff',
    foreground: '#000',
    dim: 'rgba(1, 2, 3, 0.5)',
    line: '#ccc',
    forward: 'blue',
    backward: 'orange',
    backwardWeight: 'brown',
    gradientExchange: 'purple',
    optimizer: 'green',
    copies: 'teal',
  },
};

describe('timeline as SVG', () => {
  it('draws every operation of a small timeline, with axis and idle shares', () => {
    const svg = timelineSvg(
      timelineOf(
        'TeraPipe',
        [
          [4, 4],
          [4, 4],
        ],
        3,
      ),
      options,
    );
    assert.equal(svg.match(/<rect class="[fb]\d"/g)!.length, 3 * 8);
    assert.match(svg, /<title>gpt3-175b<\/title>/);
    assert.match(svg, />0 ms<\/text>/);
    assert.match(svg, /%<\/text>/);
  });

  it('draws copies of activations at the head of their rows', () => {
    const timeline = timelineOf('BPipe', Array.from({ length: 12 }, () => [4]), 4); // prettier-ignore
    const copyTimes = { startMs: timeline.copyTimes!.startMs, endMs: timeline.copyTimes!.startMs.map((ms) => ms + 2) };
    const group = /<g class="c">[^]*?<\/g>/.exec(timelineSvg({ ...timeline, copyTimes }, options))?.[0] ?? '';
    assert.match(group, /<title>activation copies<\/title>/);
    const tops = new Set([...group.matchAll(/ y="(\d+)"/g)].map(([, y]) => Number(y)));
    assert.deepEqual([...tops], [64]);
    assert.ok(!timelineSvg(timelineOf('1F1B', [[4], [4]], 4), options).includes('class="c"'));
  });

  it('draws what follows the passes, and its axis ends with the step', () => {
    const timeline = timelineOf('1F1B', [[2], [2]], 3);
    const { makespanMs } = timeline;
    const step = { pipelineMs: makespanMs, gradientExchangeMs: makespanMs, optimizerMs: makespanMs / 2, hiddenExchangeMs: 1 };
    const svg = timelineSvg(timeline, { ...options, tail: stepTail(timeline, step) });
    const [hidden, exchange, optimizer] = ['gradient exchange, hidden', 'gradient exchange', 'optimizer'].map((name) =>
      [...(svg.split(`<title>${name}</title>`)[1]?.split('</g>')[0] ?? '').matchAll(/<rect x="([\d.]+)" y="[\d.]+" width="([\d.]+)"/g)].map(
        ([, x, width]) => [(Number(x) - 64) / 664, (Number(x) + Number(width) - 64) / 664] as const,
      ),
    );
    const isAt = (boxes: typeof hidden, from: number, to: number): boolean =>
      boxes?.length === 3 && boxes.every((box) => Math.abs(box[0] - from) < 1e-3 && Math.abs(box[1] - to) < 1e-3);
    assert.ok(isAt(exchange, 0.4, 0.8));
    assert.ok(isAt(optimizer, 0.8, 1));
    assert.ok(hidden?.length === 3 && hidden.every((box) => Math.abs(box[1] - 0.4) < 1e-3));
    assert.ok(!timelineSvg(timeline, options).includes('optimizer'));
  });

  it('stays under its number of rectangles by merging neighbours', () => {
    const many = timelineOf('GPipe', [Array.from({ length: 4000 }, () => 1)], 8);
    const svg = timelineSvg(many, { ...options, maximumRectangles: 500 });
    assert.ok(svg.match(/<rect class="[fb]\d"/g)!.length <= 500);
  });

  it('escapes hostile titles and colours', () => {
    const svg = timelineSvg(timelineOf('GPipe', [[1]], 1), {
      ...options,
      title: '</title><script>alert(1)</script>&"\u0000',
      colors: { ...options.colors, forward: 'red}</style><script>' },
    });
    assert.ok(!svg.includes('<script>'));
    assert.ok(!svg.includes('\u0000'));
    assert.match(svg, /&lt;script&gt;/);
  });

  it('is the same picture every time', () => {
    const timeline = timelineOf('1F1B', [[2], [3], [4]], 4);
    assert.equal(timelineSvg(timeline, options), timelineSvg(timeline, options));
  });
});
