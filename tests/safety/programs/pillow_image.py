"""Draw a gradient with a caption, and make a thumbnail and a grey copy."""

from PIL import Image, ImageDraw, ImageFilter, ImageFont

width, height = 320, 200
image = Image.new("RGB", (width, height))
for x in range(width):
    for y in range(height):
        image.putpixel((x, y), (x * 255 // width, y * 255 // height, 128))

draw = ImageDraw.Draw(image)
try:
    font = ImageFont.truetype("/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf", 20)
except OSError:
    font = ImageFont.load_default()
draw.text((20, 20), "Hello", fill="white", font=font)
draw.ellipse((200, 80, 280, 160), outline="yellow", width=3)

image.filter(ImageFilter.GaussianBlur(1)).save("picture.png")
image.convert("L").save("grey.jpg", quality=85)
image.thumbnail((64, 64))
image.save("thumbnail.png")
print(Image.open("picture.png").size)
