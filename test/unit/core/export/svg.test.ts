import assert from 'node:assert/strict';
import { timelineSvg, type SvgOptions } from '../../../../src/core/export/svg';
import { timelineOf } from '../../webview/timelines';

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
