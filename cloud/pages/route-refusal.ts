/** A route of the API refused what a page wanted to show. The route has logged why. */
export class RouteRefusal extends Error {
  override readonly name = "RouteRefusal";
  readonly refusal: Response;
  constructor(path: string, refusal: Response) {
    super(`the API refused ${path} with ${refusal.status}`);
    this.refusal = refusal;
  }
}
