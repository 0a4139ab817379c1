/** The stand-in for an EventStoreDB server, in a process of its own. */
import { startEventStoreDbStandIn } from '@pis/event-store/testing';

const standIn = await startEventStoreDbStandIn();
process.send({ url: standIn.url });
process.once('disconnect', () => process.exit(0));
