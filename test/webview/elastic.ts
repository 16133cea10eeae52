import assert from 'node:assert/strict';
import { totalBytes } from '../../src/features/elastic/core/stage-bytes';
import { formatDuration, formatNumber } from '../../src/core/format';
import { answerElastic } from '../../src/features/elastic/core/answer';
import type { ElasticRequest } from '../../src/features/elastic/core/request';
import { toPageElastic } from '../../src/host/pages/page-state';
import type { PageElastic, PageState } from '../../src/protocol/page';
import { requestOf } from '../unit/features/elastic/core/models';
import type { OpenOptions, OpenPage } from './browser';
import { drawnColors, show, until, type Case } from './cases';
import { planOf, stateOf } from './fixtures';

const wide: OpenOptions = { kind: 'tab', width: 1440, height: 900 };
const narrow: OpenOptions = { ...wide, width: 480, height: 1200 };
const hostile = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>"\'&';

/** A real plan of ViT-B/16 on two nodes of eight GPUs, with changes. */
export function elasticOf(changes: Partial<ElasticRequest> = {}): PageElastic {
  const request = requestOf({ freezing: { kind: 'given', frozenLayers: [0, 0, 6, 8, 8, 8, 10, 10, 12, 12] }, ...changes });
  return toPageElastic(answerElastic(request), 'tab');
}

/** A page of a run that is planned only as an elastic one. */
export function elasticState(elastic: PageElastic, change: Partial<PageState> = {}): PageState {
  return stateOf('tab', null, { elastic, file: 'vit-elastic/terapipe.json', ...change });
}

const vit = elasticOf();

async function epochTitle({ page }: OpenPage): Promise<string> {
  return page.locator('.elastic-step h2').innerText();
}

/** Nothing on the page is wider than the page. */
async function overflows({ page }: OpenPage): Promise<boolean> {
  return page.evaluate<boolean>(`document.documentElement.scrollWidth > window.innerWidth`);
}

/** The Elastic tab: what a person sees and does in it. */
export const elasticCases: readonly Case[] = [
  {
    name: 'elastic: a run planned in no other way shows its numbers, mechanisms, epochs and nothing else',
    options: wide,
    state: () => elasticState(vit),
    steps: async (open) => {
      const { page } = open;
      assert.deepEqual(await page.getByRole('tab').allInnerTexts(), ['Elastic']);
      const text = (await page.locator('.elastic-view').innerText()).replaceAll('\u00a0', ' ');
      const rounded = String(Number(vit.plan.speedup.toPrecision(3)));
      assert.ok(text.includes(`${rounded}x`), rounded);
      assert.deepEqual(await page.locator('.mechanisms tbody th').allInnerTexts(), [
        'No freezing',
        'Freezing only',
        '+ shorter pipelines',
        '+ shorter pipelines, cache',
        '+ shorter pipelines, replicas',
        'All',
      ]);
      assert.match(String(await page.locator('.elastic-view .figure').first().getAttribute('title')), /instead of .*\nFrom: analytic/);
      await until('epochs are drawn', async () => (await drawnColors(open, '.epochs')) > 4);
      await until('the step is drawn', async () => (await drawnColors(open, '.elastic-view .step-pane .lanes')) > 4);
      assert.equal(await page.locator('.toolbar, .what-if-answer').locator('visible=true').count(), 0);
      assert.equal(await overflows(open), false);
      return undefined;
    },
  },
  {
    name: 'elastic: the table has every epoch as planned',
    options: wide,
    state: () => elasticState(vit),
    steps: async ({ page }) => {
      const rows = await page.locator('.elastic-view .table-twin tbody tr').allInnerTexts();
      assert.equal(rows.length, 10);
      const cells = rows.map((row) => row.split('\t').map((cell) => cell.trim()));
      assert.deepEqual(
        cells.map(([, frozen]) => frozen),
        ['0', '0', '6', '8', '8', '8', '10', '10', '12', '12'],
      );
      assert.deepEqual(
        cells.map(([, , stages]) => stages),
        ['8', '8', '4', '4', '4', '4', '2', '2', '1', '1'],
      );
      assert.deepEqual(
        cells.map(([, , , replicas]) => replicas),
        ['2', '2', '4', '4', '4', '4', '8', '8', '16', '16'],
      );
      assert.ok(cells.some((row) => row.includes('fill')) && cells.some((row) => row.includes('read')));
      await page.locator('.elastic-view .table-twin tbody tr').nth(6).click();
      await page.getByRole('heading', { name: 'Step of epoch 6' }).waitFor();
      return undefined;
    },
  },
  {
    name: 'elastic: a click and the keyboard pick epochs, Enter leads to the step, whose operations arrows walk',
    options: wide,
    state: () => elasticState(vit),
    steps: async (open) => {
      const { page } = open;
      const chart = page.locator('.epoch-chart');
      await chart.focus();
      await page.keyboard.press('ArrowRight');
      assert.equal(await epochTitle(open), 'Step of epoch 1');
      await page.keyboard.press('PageDown');
      assert.equal(await epochTitle(open), 'Step of epoch 2');
      await page.keyboard.press('End');
      assert.equal(await epochTitle(open), 'Step of epoch 9');
      assert.match(String(await chart.getAttribute('aria-label')), /10 epochs over 16 GPUs, epoch 9 selected/);
      await page.keyboard.press('Home');
      await page.keyboard.press('Enter');
      assert.equal(await page.evaluate(`document.activeElement.className`), 'step-pane');
      await page.keyboard.press('ArrowRight');
      await page.keyboard.press('ArrowRight');
      await until('an operation announced', async () =>
        /Forward of micro-batch \d+.* stage 0/.test(String(await page.locator('.elastic-view .step-pane [role=status]').textContent())),
      );
      const box = (await chart.boundingBox())!;
      await page.mouse.click(box.x + box.width - 20, box.y + 30);
      assert.equal(await epochTitle(open), 'Step of epoch 8');
      return undefined;
    },
  },
  {
    name: 'elastic: tooltips say what runs on a GPU and where the number comes from',
    options: wide,
    state: () => elasticState(vit),
    steps: async ({ page }) => {
      const box = (await page.locator('.epoch-chart').boundingBox())!;
      await page.mouse.move(box.x + 120, box.y + 112);
      const tooltip = page.locator('.epoch-chart .tooltip');
      await until('a stage named', async () => (await tooltip.innerText()).includes('Epoch 0 · pipeline 0 of 2, stage 0 of 8'));
      assert.match(
        await tooltip.innerText(),
        /GPU 0 of node 0[\s\S]*Embedding[\s\S]*Memory: [\s\S]*From: analytic step-time model for V100/,
      );
      await page.mouse.move(box.x + box.width - 30, box.y + 40);
      await until('frozen layers named', async () => (await tooltip.innerText()).includes('12 of 12 layers frozen'));
      return undefined;
    },
  },
  {
    name: 'elastic: epochs are as wide as they take, or alike, and the choice stays',
    options: wide,
    state: () => elasticState(vit),
    steps: async (open) => {
      const { page } = open;
      const chart = page.locator('.epoch-chart');
      const at = async (share: number): Promise<string> => {
        const box = (await chart.boundingBox())!;
        await page.mouse.click(box.x + 72 + share * (box.width - 84), box.y + 30);
        return epochTitle(open);
      };
      const long = await at(0.45);
      await page.getByRole('checkbox', { name: 'Epochs of equal width' }).click();
      assert.equal(await at(0.45), 'Step of epoch 4');
      assert.notEqual(long, 'Step of epoch 4');
      return undefined;
    },
  },
  {
    name: 'elastic: both balances of an epoch are shown, with what the better one gains',
    options: wide,
    state: () => elasticState(vit),
    steps: async ({ page }) => {
      const names = await page.locator('.balances tbody th').allInnerTexts();
      assert.deepEqual(
        names.map((name) => name.replace(/\s*used/, '')),
        ['Greedy', 'Exact by parameters', 'Exact by time'],
      );
      assert.match(
        await page.locator('.elastic-detail .hint').innerText(),
        /less pipeline time than the greedy partition|as fast as the exact/,
      );
      return undefined;
    },
  },
  {
    name: 'elastic: sliders walk the curves of alpha, pipeline length and micro-batches, and a button writes the value',
    options: wide,
    state: () => elasticState(elasticOf({ freezing: { kind: 'alpha', alpha: 1 / 3 }, dataset: 'cifar-100' })),
    steps: async (open) => {
      const { page, messages } = open;
      const card = (name: string) => page.locator(`.study-card[aria-label="${name}"]`);
      const alpha = card('Alpha');
      assert.match(
        await alpha.locator('.study-readout').innerText(),
        /^alpha 0\.333: 2\.78x[\s\S]*90\.8 % with ViT-B\/16 on CIFAR-100, 91\.21 %/,
      );
      assert.equal(await alpha.locator('.study-act').innerText(), 'as planned');
      await until('the curve is drawn', async () => (await drawnColors(open, '.study-card .chart')) > 3);
      await alpha.locator('input').focus();
      await page.keyboard.press('End');
      assert.match(await alpha.locator('.study-readout').innerText(), /^alpha 0\.9: 7\.\d+x/);
      await page.getByRole('button', { name: 'Use alpha 0.9' }).click();
      assert.deepEqual((await messages()).at(-1), { type: 'change', change: { key: 'elastic.alpha', value: 0.9 } });
      const length = card('Pipeline length at the start');
      await length.locator('input').focus();
      await page.keyboard.press('Home');
      assert.match(await length.locator('.study-readout').innerText(), /^1 GPU: [\s\S]*does not fit/);
      await page.keyboard.press('ArrowRight');
      await page.getByRole('button', { name: 'Use pipelines of 2' }).click();
      assert.deepEqual((await messages()).at(-1), { type: 'change', change: { key: 'elastic.pipelineLength', value: 2 } });
      await card('Micro-batches in the first epoch').locator('input').focus();
      await page.keyboard.press('Home');
      await page.getByRole('button', { name: 'Use 8 micro-batches' }).click();
      assert.deepEqual((await messages()).at(-1), { type: 'change', change: { key: 'elastic.microBatches', value: 8 } });
      assert.equal(await overflows(open), false);
      return undefined;
    },
  },
  {
    name: 'elastic: mechanisms are a waterfall of the time: each bar begins where the run without it ends',
    options: wide,
    state: () => elasticState(vit),
    steps: async ({ page }) => {
      const msOf = (id: string) => vit.plan.variants.find((one) => one.id === id)?.totalMs ?? NaN;
      const boxOf = async (id: string) => (await page.locator(`.mechanism-${id}`).boundingBox()) ?? assert.fail(id);
      const { x: origin, width } = await boxOf('none');
      const pxPerMs = width / msOf('none');
      const addedTo = { freezing: 'none', pipe: 'freezing', 'pipe-cache': 'pipe', 'pipe-dp': 'pipe', all: null } as const;
      for (const [id, before] of Object.entries(addedTo)) {
        const box = await boxOf(id);
        const [start = NaN, end = NaN] = [before === null ? 0 : msOf(before), msOf(id)].sort((a, b) => a - b);
        assert.ok(Math.abs(box.x - origin - start * pxPerMs) < 1.5, `${id} begins`);
        assert.ok(Math.abs(box.x + box.width - origin - end * pxPerMs) < 2.5, `${id} ends`);
      }
      return undefined;
    },
  },
  {
    name: 'elastic: next to the plan of a step it is one more tab, without a run it explains how to get one',
    options: { ...wide, savedState: { tab: 'elastic' } },
    state: () => stateOf('tab', planOf({ unit: 128 })),
    steps: async ({ page, send }) => {
      await page.getByText('Layers that converge early can freeze').waitFor();
      assert.equal(await page.getByRole('tab').count(), 6);
      await send(show(stateOf('tab', planOf({ unit: 128 }), { elastic: vit })));
      await page.locator('.mechanisms').waitFor();
      await page.getByRole('tab', { name: 'Timeline' }).click();
      await page.getByText('TP4 PP96 DP1').waitFor();
      await send(show(stateOf('tab', planOf({ unit: 128 }))));
      assert.equal(await page.getByRole('tab', { name: 'Elastic' }).count(), 0, 'an empty tab that nobody opened');
      return undefined;
    },
  },
  {
    name: 'elastic: one epoch on one GPU, 100 epochs on 256 GPUs, and names that are markup',
    options: narrow,
    state: () => {
      const cluster = { ...requestOf({}).cluster, nodes: 1, gpusPerNode: 1 };
      return elasticState(
        elasticOf({ title: hostile, cluster, firstLength: 1, epochs: 1, batch: 8, freezing: { kind: 'alpha', alpha: 0.3 } }),
      );
    },
    steps: async (open) => {
      const { page, send } = open;
      assert.equal(await page.locator('h1').innerText(), hostile);
      assert.equal(await page.evaluate('window.hacked'), undefined);
      assert.equal(await overflows(open), false);
      const cluster = { ...requestOf({}).cluster, nodes: 32, gpusPerNode: 8 };
      const many = elasticOf({ cluster, epochs: 100, freezing: { kind: 'alpha', alpha: 0.02 } });
      await send(show(elasticState(many, { document: 'file:///other', file: 'other' })));
      await until('100 epochs', async () =>
        String(await page.locator('.epoch-chart').getAttribute('aria-label')).includes('100 epochs over 256 GPUs'),
      );
      await until('epochs are drawn', async () => (await drawnColors(open, '.epochs')) > 4);
      assert.equal(await page.locator('.elastic-view .table-twin tbody tr').count(), 50);
      assert.equal(await overflows(open), false);
      return undefined;
    },
  },
  {
    name: 'elastic: the side view of such a run shows its speed-up and opens the tab',
    options: { kind: 'side', width: 300 },
    state: () => stateOf('side', null, { elastic: vit, file: 'vit-elastic/terapipe.json' }),
    steps: async (open) => {
      const { page, messages } = open;
      await page.getByText(/^speed-up( [\d.]+ to [\d.]+)?$/).waitFor();
      await until('the epochs are drawn', async () => (await drawnColors(open, '.epoch-strip')) > 4);
      const strip = page.locator('.strip', { hasText: 'Epochs' });
      assert.match(await strip.innerText(), /2 pipelines, then 16/);
      const box = (await page.locator('.epoch-strip').boundingBox())!;
      await page.mouse.move(box.x + 2, box.y + 10);
      assert.match(await strip.innerText(), /epoch 0: 0 frozen, 2 pipelines of 8 GPUs/);
      await page.mouse.click(box.x + box.width - 2, box.y + 10);
      assert.deepEqual((await open.messages()).at(-1), { type: 'openTab', tab: 'elastic', candidate: null });
      await page.getByRole('button', { name: 'Open elastic plan' }).click();
      assert.deepEqual((await messages()).at(-1), { type: 'openTab', tab: 'elastic', candidate: null });
      assert.equal(await overflows(open), false);
      return undefined;
    },
  },
  ...(['side', 'tab'] as const).map((kind): Case => ({
    name: `elastic: ${kind === 'side' ? 'the side view' : 'the tab'} of such a run shows first what freezing gains, or that it does not fit`,
    options: { kind, width: kind === 'side' ? 280 : 1440 },
    state: () => stateOf(kind, null, { elastic: vit, file: 'vit-elastic/terapipe.json' }),
    steps: async (open) => {
      const { page, send } = open;
      const { speedup, totalMs, variants } = vit.plan;
      const words = page.locator('.glance-words:visible');
      const without = variants.find(({ id }) => id === 'none')!.totalMs;
      const verdict = (await words.innerText()).replaceAll('\u00a0', ' ');
      const time = `${formatDuration(totalMs)} for 10 epochs instead of ${formatDuration(without)}.`;
      assert.ok(
        verdict.includes(`As set: ${formatNumber(speedup)} times as fast with frozen layers. ${time} Most of that comes from `),
        verdict,
      );
      const heard = await page.locator('main').ariaSnapshot();
      assert.match(heard, /^- main:\s+- region "Verdict":\s+- paragraph:\s+- strong: "?Do not pipeline this model/);
      assert.ok(heard.indexOf('Do not pipeline') < heard.indexOf('- heading'), heard);
      const { cluster } = requestOf({});
      const small = elasticOf({ cluster: { ...cluster, gpu: { ...cluster.gpu, memoryBytes: 2 ** 30 } } });
      await send(show(stateOf(kind, null, { elastic: small, file: 'vit-elastic/terapipe.json' })));
      await words.getByText(/Does not fit: [\d.]+\s[GM]iB over on stage \d+\sfrom epoch 0\son\./).waitFor();
      const peaks = vit.spans.map(({ epoch: { stageBytes } }) => Math.max(...stageBytes.map(totalBytes)));
      const between = 1.05 * ((Math.max(...peaks) + Math.min(...peaks)) / 2) + 2 ** 30;
      const atFirst = elasticOf({ cluster: { ...cluster, gpu: { ...cluster.gpu, memoryBytes: between } } });
      assert.ok(atFirst.spans.some(({ epoch }) => epoch.fits) && atFirst.spans[0]?.epoch.fits === false);
      await send(show(stateOf(kind, null, { elastic: atFirst, file: 'vit-elastic/terapipe.json' })));
      await words.getByText(/Does not fit: [\d.]+\s[GM]iB over on stage \d+\sin epoch 0\./).waitFor();
      assert.equal(await page.locator('.glance-over:visible').count(), 1);
      assert.equal(await overflows(open), false);
      return undefined;
    },
  })),
  {
    name: 'elastic: what to do is whole in a tab 541 px wide, with what it gains in its tooltip',
    options: { kind: 'tab', width: 541 },
    state: () => elasticState(vit),
    steps: async ({ page }) => {
      const words = page.locator('.glance-words:visible');
      await words.locator('strong', { hasText: /^Do not pipeline this model: one GPU a replica\.$/ }).waitFor();
      const [whole, shown] = [(await words.locator('strong').boundingBox())!, (await words.boundingBox())!];
      assert.ok(whole.x + whole.width <= shown.x + shown.width, `it takes ${whole.width} px of ${shown.width}`);
      const [asked, has] = await page.evaluate<readonly [number, number]>(
        `(({ scrollWidth, clientWidth }) => [scrollWidth, clientWidth])(document.querySelector('.glance-words strong'))`,
      );
      assert.ok(asked <= has, `its text takes ${asked} px of ${has}`);
      assert.match((await words.getAttribute('title')) ?? '', /one GPU a replica\. With [\d,]+ samples each \([\d,]+ a step\) it takes /);
      return undefined;
    },
  },
  {
    name: 'elastic: a run planned in no other way exports its picture, its tables and its plan',
    options: wide,
    state: () => elasticState(vit),
    steps: async ({ page, messages }) => {
      const run = async (item: string): Promise<void> => {
        await page.getByRole('button', { name: 'Export' }).click();
        await page.getByRole('menuitem', { name: item }).click();
      };
      await page.getByRole('button', { name: 'Export' }).click();
      const offered = await page.getByRole('menuitem').allInnerTexts();
      assert.deepEqual(offered, [
        'Picture as PNG',
        'Picture as SVG',
        'Tables as CSV',
        'Copy tables as Markdown',
        'Plan as JSON',
        'Report as HTML',
      ]);
      await page.keyboard.press('ArrowUp');
      assert.equal(await page.evaluate('document.activeElement.textContent'), 'Report as HTML');
      await page.keyboard.press('Escape');
      const saves = async () => (await messages()).filter((message) => message.type === 'save');
      await run('Picture as PNG');
      await until('a picture', async () => (await saves()).length === 1);
      await run('Picture as SVG');
      await until('another picture', async () => (await saves()).length === 2);
      await run('Tables as CSV');
      const [png, svg, csv] = await saves();
      assert.deepEqual(
        [png, svg, csv].map((saved) => saved?.name.replace(/^.*-/, '')),
        ['elastic.png', 'elastic.svg', 'elastic.csv'],
      );
      for (const drawn of [/<image [^>]*href="data:image\/png/, /<text [^>]*>What each mechanism gains/])
        assert.match(svg?.text ?? '', drawn);
      const lines = (csv?.text ?? '').split('\r\n');
      assert.ok(
        lines.includes(['Mechanisms', 'Speed-up', 'Total'].join()) || lines.some((line) => line.startsWith('No freezing')),
        csv?.text,
      );
      const epochs = lines.slice(lines.findIndex((line) => line.startsWith('Epoch,')) + 1).filter((line) => /^\d/.test(line));
      assert.equal(epochs.length, 10);
      await run('Plan as JSON');
      assert.deepEqual((await messages()).at(-1), { type: 'command', command: 'terapipe.exportPlan' });
      await run('Report as HTML');
      assert.deepEqual((await messages()).at(-1), { type: 'export', format: 'html', candidate: null });
      return undefined;
    },
  },
];
