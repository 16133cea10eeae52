// Prints every prediction of the reference rows at full precision as JSON, so that a change of structure can be shown to change none: `node
// --import tsx test/golden/dump.ts > before.json`.
import { planJson } from '../../src/core/export/plan-json';
import { b200Rows } from './b200';
import { bridgeRows } from './bridge';
import { nemoRows } from './nemo';
import { recomputeRows } from './recompute';
import { ptdpRows, vtrainRows, vtrainSingleNodeRows } from './rows';
import { readTeraPipeSamples, terapipePlan, terapipePlanRows, terapipeRows, terapipeSettings, uniformRows } from './terapipe';
import { zeroBubbleRows } from './zero-bubble';

const rows = () => ({
  b200: b200Rows(),
  bridge: bridgeRows(),
  nemo: nemoRows(),
  recompute: recomputeRows(),
  ptdp: ptdpRows(),
  vtrain: vtrainRows(),
  vtrainSingleNode: vtrainSingleNodeRows(),
  terapipe: terapipeRows(),
  uniform: uniformRows(),
  terapipePlanTimes: terapipePlanRows().map(({ predicted }) => predicted),
  terapipePlans: terapipeSettings.map((setting) => planJson(terapipePlan(setting))),
  zeroBubble: zeroBubbleRows(),
});
void readTeraPipeSamples().then(() =>
  console.log(JSON.stringify(rows(), (_, value: unknown) => (ArrayBuffer.isView(value) ? [...(value as Float64Array)] : value), 1)),
);
