import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { StageNode } from '../../../../../src/core/cluster/rank-groups';
import {
  areCollapsed,
  isCollapsed,
  laneRows,
  plainRows,
  rangesText,
  timelineRows,
  toggleNode,
  toggleNodes,
  togglePin,
} from '../../../../../webview/charts/lanes/rows';

const { read: readRows } = timelineRows;
const initialRows = readRows(undefined);

/** Nodes of `size` stages each, in order or assigned one by one in turn. */
function nodesOf(stages: number, size: number, inTurn: boolean): StageNode[] {
  const count = Math.ceil(stages / size);
  return Array.from({ length: count }, (_, node) => ({
    node,
    nodes: 1,
    stages: Array.from({ length: stages }, (_, stage) => stage).filter(
      (stage) => (inTurn ? stage % count : Math.floor(stage / size)) === node,
    ),
  })).filter((node) => node.stages.length > 1);
}

const index = fc.nat({ max: 70 });
const settings = fc
  .record({ pinned: fc.uniqueArray(index), collapsed: fc.boolean(), except: fc.uniqueArray(index) })
  .map((drawn) => readRows(drawn));
const shapes = fc.record({ stages: fc.integer({ min: 1, max: 60 }), size: fc.integer({ min: 1, max: 9 }), inTurn: fc.boolean() });

describe('rows of a timeline', () => {
  it('show every stage once, and lead from a stage to its row and back', () => {
    fc.assert(
      fc.property(shapes, settings, ({ stages, size, inTurn }, chosen) => {
        const nodes = nodesOf(stages, size, inTurn);
        const { rows, pinned, laneRow } = laneRows(stages, nodes, chosen);
        const shown = rows.flatMap((row) => row.stages);
        assert.deepEqual(
          [...shown].sort((a, b) => a - b),
          Array.from({ length: stages }, (_, stage) => stage),
        );
        rows.forEach((row, at) => {
          for (const stage of row.stages) assert.equal(laneRow(stage), at);
          assert.ok(row.stages.length > 0 && (row.collapsed || row.stages.length === 1));
          if (row.node !== null) assert.ok(row.stages.every((stage) => row.node?.stages.includes(stage)));
        });
        assert.deepEqual(
          rows.slice(0, pinned).flatMap((row) => row.stages),
          chosen.pinned.filter((stage) => stage < stages),
        );
        for (const row of rows.slice(pinned)) assert.equal(row.collapsed, row.node !== null && isCollapsed(chosen, row.node.node));
        assert.throws(() => laneRow(stages), RangeError);
      }),
      { seed: 21 },
    );
  });

  it('are as they were once what was done is undone', () => {
    fc.assert(
      fc.property(settings, index, (chosen, one) => {
        assert.deepEqual(toggleNode(toggleNode(chosen, one), one), chosen);
        assert.deepEqual(togglePin(togglePin(chosen, one), one), chosen);
        assert.notEqual(isCollapsed(toggleNode(chosen, one), one), isCollapsed(chosen, one));
        assert.deepEqual(readRows(JSON.parse(JSON.stringify(chosen))), chosen);
      }),
      { seed: 22 },
    );
  });

  it('are a stage each without pins and nodes that are collapsed', () => {
    assert.deepEqual(laneRows(6, nodesOf(6, 2, false), initialRows).rows, plainRows(6).rows);
    assert.equal(plainRows(6).laneRow(4), 4);
  });

  it('have a node in one place, and its twistie stays where it is opened', () => {
    const nodes = nodesOf(6, 2, false);
    const collapsed = toggleNodes(initialRows, nodes);
    assert.deepEqual(
      laneRows(6, nodes, collapsed).rows.map((row) => row.stages),
      [
        [0, 1],
        [2, 3],
        [4, 5],
      ],
    );
    const opened = laneRows(6, nodes, toggleNode(collapsed, 1));
    assert.deepEqual(
      opened.rows.map(({ stages, node }) => [stages, node?.node ?? null]),
      [
        [[0, 1], 0],
        [[2], 1],
        [[3], null],
        [[4, 5], 2],
      ],
    );
    const [pinned] = laneRows(6, nodes, togglePin(collapsed, 4)).rows.slice(-1);
    assert.deepEqual(pinned?.stages, [5]);
  });

  it('open all at once only where all are collapsed', () => {
    const nodes = nodesOf(6, 2, false);
    const one = toggleNode(initialRows, 1);
    assert.ok(areCollapsed(toggleNodes(one, nodes), nodes));
    assert.deepEqual(toggleNodes(toggleNodes(one, nodes), nodes), initialRows);
    assert.equal(areCollapsed({ ...initialRows, collapsed: true }, []), false);
  });

  it('are read from anything', () => {
    fc.assert(
      fc.property(fc.anything(), (value) => {
        const { pinned, except } = readRows({ pinned: value, except: value, collapsed: value });
        for (const list of [pinned, except]) assert.ok(list.every((each) => Number.isSafeInteger(each) && each >= 0));
      }),
      { seed: 23 },
    );
    assert.deepEqual(readRows(null), initialRows);
    assert.deepEqual(readRows({ pinned: [3, -1, 3, 0, 'x'] }).pinned, [0, 3]);
  });

  it('name stages by their ranges', () => {
    assert.deepEqual([[3], [0, 1, 2], [0, 2, 4, 5, 6]].map(rangesText), ['3', '0–2', '0, 2, 4–6']);
  });
});
