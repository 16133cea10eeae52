import assert from 'node:assert/strict';
import { formatPercent } from '../../src/core/format';
import { noLayoutState } from '../../src/protocol/layout';
import { groupLoads } from '../../webview/tabs/layout/rank-loads';
import type { Case } from './cases';
import { planOf } from './fixtures';
import { layoutState } from './layouts';
import type { Plan } from '../../src/core/planner/plan';

let known: Plan | null = null;
/** Two tensor ranks, four stages and eight replicas on eight nodes. */
const plan = (): Plan =>
  (known ??= planOf({
    layers: 32,
    stages: 4,
    tensor: 2,
    data: 8,
    nodes: 8,
    hidden: 4096,
    gpu: 'A100-80GB',
    schedule: '1F1B',
    training: { globalBatch: 64 },
  }));

/** Where ranks run, under the found layouts. */
export const rankCases: readonly Case[] = [
  {
    name: 'ranks: every GPU shows what it holds, a picked rank its groups, and links what they carry',
    options: { kind: 'tab', width: 1440, height: 1000, savedState: { tab: 'layout' } },
    state: () => layoutState(noLayoutState, plan()),
    steps: async ({ page }) => {
      const view = page.locator('.rank-view');
      assert.equal(await view.locator('.rank-cell').count(), 64);
      const groups = view.getByRole('group', { name: 'Groups' });
      assert.deepEqual(await groups.getByRole('button').allInnerTexts(), ['Tensor', 'Pipeline', 'Data']);
      await groups.getByRole('button', { name: 'Pipeline' }).click();
      const stages = await view.locator('.rank-cell').allInnerTexts();
      assert.deepEqual(
        stages,
        Array.from({ length: 64 }, (_, rank) => String(Math.floor(rank / 16))),
      );
      await view.locator('[data-rank="37"]').click();
      const detail = (): Promise<string> => view.locator('.rank-detail').innerText();
      assert.match(await detail(), /Rank 37: node 4, GPU 5/);
      assert.match((await detail()).replace(/\s+/g, ' '), /TP 1 ranks 36, 37, in the node PP 2 to and from 21, 53, over the network/);
      assert.equal(await view.locator('.rank-peer').count(), 2);
      await groups.getByRole('button', { name: 'Data' }).click();
      assert.equal(await view.locator('.rank-peer').count(), 7);
      await view.locator('.rank-grid').press('ArrowRight');
      await view.locator('.rank-grid').press('ArrowUp');
      assert.match(await detail(), /Rank 30: node 3, GPU 6/);
      const links = await view.locator('.rank-links tbody tr').allInnerTexts();
      const loads = groupLoads(plan());
      assert.equal(links.length, loads.length);
      loads.forEach(({ share }, index) => assert.ok(links[index]!.includes(formatPercent(share!)), `${links[index]} of ${share}`));
      assert.match(links[0]!, /TP 2\s+in the node/);
      assert.match(links[2]!, /DP 8\s+in the node and over the network/);
      return undefined;
    },
  },
];
