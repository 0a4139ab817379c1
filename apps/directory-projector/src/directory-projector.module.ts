/** Directory projector: keeps the lists of originators, contacts, endpoints and keys in PostgreSQL up with the event store. */
import { type DynamicModule, Module } from '@nestjs/common';
import { directoryProjection } from '@pis/read-models';
import { projectorOf } from '@pis/service-kit';

@Module({ providers: [projectorOf(directoryProjection)] })
export class DirectoryProjectorModule {
  static register(): DynamicModule {
    return { module: DirectoryProjectorModule };
  }
}
