import type { LinkSpec } from '../domain/cluster';
import type { TrainerTimes } from '../domain/profile';
import type { PlanRequest } from '../domain/request';
import { mean } from '../numbers';
import type { Run } from '../run/run';

/** A request whose links and optimizer are as the trainer measured them in its profile; links that a file sets stay. */
export function withTrainerTimes(request: PlanRequest, { links }: Run): PlanRequest {
  const trainer = request.profile?.profile.trainer;
  if (trainer === undefined) return request;
  const { cluster, constants } = request;
  const { optimizerNsPerParameter: optimizer } = trainer;
  const isGiven = links?.source.kind === 'file';
  return {
    ...request,
    cluster: isGiven ? cluster : { ...cluster, links: { ...cluster.links, ...measuredLinks(trainer) } },
    constants: optimizer === null ? constants : { ...constants, optimizerNsPerParameter: optimizer },
  };
}

const groupSizes = [2, 4, 8] as const;

/** Groups of a size that was not measured take the bandwidth of the nearest one that was. */
function measuredLinks({ sends, allReduces }: TrainerTimes): Partial<LinkSpec> {
  if (allReduces.length === 0) return { sends };
  const nearest = (size: number): number => {
    const distance = ({ ranks }: TrainerTimes['allReduces'][number]): number => Math.abs(Math.log2(ranks / size));
    return allReduces.reduce((best, one) => (distance(one) < distance(best) ? one : best)).busGBps;
  };
  const [two, four, eight] = groupSizes.map(nearest) as [number, number, number];
  return {
    sends,
    intraNodeBusGBps: { 2: two, 4: four, 8: eight },
    allReduceLatencyUs: { base: mean(allReduces.map(({ latencyUs }) => latencyUs)), perDoubling: 0 },
  };
}
