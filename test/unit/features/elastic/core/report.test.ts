import assert from 'node:assert/strict';
import { elasticHtml } from '../../../../../src/features/elastic/core/report';
import { planElastic } from '../../../../../src/features/elastic/core/make-plan';
import { formatDuration, formatNumber } from '../../../../../src/core/format';
import { requestOf } from './models';

const hostile = '</title><script>alert(1)</script>"\'&';
const frozenLayers = [0, 0, 6, 8, 8, 8, 10, 10, 12, 12];
const plan = planElastic(requestOf({ freezing: { kind: 'given', frozenLayers }, title: hostile }));

describe('report of a run that freezes layers', () => {
  const html = elasticHtml(plan, []);
  const shown = html
    .replace(/<style>[\s\S]*?<\/style>/g, '')
    .replace(/<[^>]*>/g, ' ')
    .replace(/\s+/g, ' ');

  it('shows what freezing gains, over what, and every epoch', () => {
    const without = plan.variants.find(({ id }) => id === 'none')!.totalMs;
    assert.ok(
      shown.includes(
        `${formatNumber(plan.speedup)}x over no freezing: ${formatDuration(plan.totalMs)} instead of ${formatDuration(without)}`,
      ),
    );
    const rows = [...html.matchAll(/<tr><td>(\d+)<\/td><td>(\d+)<\/td><td>(\d+) pipelines? of (\d+) GPUs?<\/td>/g)];
    assert.deepEqual(
      rows.map(([, epoch, frozen, replicas, gpus]) => [epoch, frozen, replicas, gpus].map(Number)),
      plan.epochs.map(({ epoch, replicas, pipelineLength }) => [epoch, frozenLayers[epoch], replicas, pipelineLength]),
    );
    for (const { speedup } of plan.variants) assert.ok(shown.includes(`${formatNumber(speedup)}x`));
    for (const name of ['No freezing', '+ shorter pipelines (AutoPipe)', 'All']) assert.ok(html.includes(`<td>${name}</td>`), name);
  });

  it('draws the layers of every epoch as wide as it takes, frozen ones below', () => {
    const widths = [...html.matchAll(/<rect x="([\d.]+)" y="0" width="([\d.]+)" height="([\d.]+)" fill="var\(--forward\)"/g)];
    assert.equal(widths.length, 10);
    const { layers } = plan.request.model.spec;
    widths.forEach(([, , width, height], epoch) => {
      const { epochMs } = plan.epochs[epoch]!;
      assert.ok(Math.abs(Number(width) - Math.max(1, (1080 * epochMs) / plan.totalMs - 1)) < 0.02);
      assert.ok(Math.abs(Number(height) / 120 - (1 - frozenLayers[epoch]! / layers)) < 1e-3);
    });
  });

  it('loads and runs nothing, whatever names are', () => {
    assert.doesNotMatch(html, /<script|<img|<link|https?:\/\/(?!www\.w3\.org\/2000\/svg)/);
    assert.match(html, /default-src 'none'/);
    assert.ok(html.includes('&lt;script&gt;alert(1)'));
  });

  it('marks what does not fit', () => {
    const { cluster } = plan.request;
    const small = elasticHtml(planElastic({ ...plan.request, cluster: { ...cluster, gpu: { ...cluster.gpu, memoryBytes: 2 ** 33 } } }), []);
    assert.match(small, /<div class="number bad"><h2>Memory<\/h2>/);
    assert.equal([...small.matchAll(/<td><em class="bad">[^<]* GiB/g)].length, 2);
    assert.doesNotMatch(html, /class="number bad"|<em class="bad">/);
  });
});
