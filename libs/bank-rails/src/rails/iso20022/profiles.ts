import { fednowProfile } from '../fednow/profile.js';
import { fedwireProfile } from '../fedwire/profile.js';
import { rtpProfile } from '../rtp/profile.js';
import { swiftProfile } from '../swift/profile.js';
import type { IsoRail } from './messages.js';
import type { IsoRailProfile } from './profile.js';

const profiles = {
  FEDNOW: fednowProfile,
  RTP: rtpProfile,
  FEDWIRE: fedwireProfile,
  SWIFT: swiftProfile,
} as const satisfies Record<IsoRail, IsoRailProfile>;

export function profileOf(rail: IsoRail): IsoRailProfile {
  return profiles[rail];
}
